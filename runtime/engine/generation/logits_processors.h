// Changes of the scores of the next token before sampling: Hugging Face's logits processors, in their order.
// Tokens that may not be chosen score -infinity.
#pragma once

#include <limits>
#include <span>

#include "runtime/engine/generation/generation_options.h"

namespace smelt {

/// The score of a token that may not be chosen.
inline constexpr double kBanned = -std::numeric_limits<double>::infinity();

/// One sequence so far. Padding counts as tokens, as it does for transformers, except for the repetition
/// penalty.
struct History {
  std::span<const int32_t> tokens;              // what the decoder has read: its prompt, then the new tokens
  size_t prompt_length = 0, padding = 0;        // tokens of the prompt, and padding before its first one
  std::span<const int32_t> source;              // what the encoder reads; of a decoder alone, its prompt
  std::span<const int32_t> chosen_before = {};  // in this step, by groups of beams before this one's
};

/// `scores`: one for each token of the vocabulary, logits or log-probabilities. The options are validated for
/// this vocabulary, because their ids are not checked again.
void process_scores(const GenerationOptions& options, const History& history, std::span<double> scores);

}  // namespace smelt
