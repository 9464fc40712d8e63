// Many prompts are continued: what each becomes is told in their order.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "compiler/cli/generation_clock.h"
#include "runtime/generation/generator.h"

namespace smelt::cli {

/// The num_return_sequences results of a prompt. What is drawn or greedy has no score: NaN.
using OnResults = std::function<void(size_t prompt, std::span<const Hypothesis> results)>;

/// Calls `on_results` once for each prompt, in the order of the prompts, as soon as this one and those before
/// it have ended. All are one call of the generator, so that what is drawn does not depend on how many run at
/// once.
void continue_prompts(Generator& generator, std::span<const Generator::Tokens> prompts,
                      const GenerationOptions& options, GenerationClock& clock, const OnResults& on_results);

}  // namespace smelt::cli
