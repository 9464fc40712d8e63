// Continues many prompts; their results are reported in the order of the prompts.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "compiler/cli/commands/generation_clock.h"
#include "runtime/engine/generation/generator.h"

namespace smelt::cli {

/// The num_return_sequences results of a prompt. Sampled or greedy results have no score: NaN.
using OnResults = std::function<void(size_t prompt, std::span<const Hypothesis> results)>;

/// Calls `on_results` once per prompt, in the order of the prompts, as soon as this one and those before it
/// have ended. All prompts are one call of the generator, so that sampling does not depend on the number of
/// prompts that run concurrently.
void continue_prompts(Generator& generator, std::span<const Generator::Tokens> prompts,
                      const GenerationOptions& options, GenerationClock& clock, const OnResults& on_results);

}  // namespace smelt::cli
