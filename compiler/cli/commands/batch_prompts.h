// Generation for many prompts by a continuous batch, which supports drafts and structured output. The results
// are those of continue_prompts (continue_prompts.h), which uses a Generator.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compiler/cli/commands/generation_clock.h"
#include "runtime/engine/serving/continuous_batch.h"
#include "runtime/structured/constraint.h"

namespace smelt::cli {

/// One result of a prompt. `draft_tokens`: tokens of drafts that were read for it; `kept_draft_tokens`: those
/// of them that are part of the result.
struct BatchResult {
  std::vector<int32_t> tokens = {};
  size_t draft_tokens = 0, kept_draft_tokens = 0;
};

/// Receives the num_return_sequences results of a prompt.
using OnBatchResults = std::function<void(size_t prompt, std::span<const BatchResult> results)>;
/// Receives each new token of the first result of the first prompt.
using OnFirstToken = std::function<void(int32_t token)>;

/// Prompts to continue, and the demands on the results.
struct BatchedPrompts {
  std::span<const std::vector<int32_t>> prompts;
  std::vector<std::string> names;  // of the prompts, in messages
  const GenerationOptions& options;
  std::shared_ptr<structured::Constraint> constraint = {};  // null: any text
};

/// Generates continuations of all prompts. Calls `on_results` once per prompt, in the order of the prompts,
/// as soon as the results of this prompt and of all previous ones are complete. Random numbers are those of
/// Generator::generate. `clock` counts the new tokens. Throws Error that names the prompt if one cannot be
/// continued; nothing is generated if this is known before.
void continue_in_batch(ContinuousBatch& batch, const BatchedPrompts& work, GenerationClock& clock,
                       const OnBatchResults& on_results, const OnFirstToken& on_first_token = {});

}  // namespace smelt::cli
