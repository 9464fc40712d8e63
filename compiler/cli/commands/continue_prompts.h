// Generation for many prompts, with results in the order of the prompts.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "compiler/cli/commands/generation_clock.h"
#include "runtime/engine/generation/generator.h"

namespace smelt::cli {

/// Receives the num_return_sequences results of a prompt. The score of sampled and greedy results is NaN.
using OnResults = std::function<void(size_t prompt, std::span<const Hypothesis> results)>;

/// Generates continuations of all prompts. Calls `on_results` once per prompt, in the order of the prompts,
/// as soon as the results of this prompt and of all previous ones are complete. All prompts are passed to the
/// generator in one call. The random numbers of a sequence depend on its index in that call, so the results
/// do not depend on how many prompts run concurrently. `clock` counts the new tokens.
void continue_prompts(Generator& generator, std::span<const Generator::Tokens> prompts,
                      const GenerationOptions& options, GenerationClock& clock, const OnResults& on_results);

}  // namespace smelt::cli
