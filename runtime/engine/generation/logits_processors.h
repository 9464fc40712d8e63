// Logits processors: changes of the scores of the next token before sampling, as in Hugging Face's
// transformers and in the same order. The penalties of OpenAI's API, which transformers does not have, come
// after the repetition penalty, as in vLLM.
#pragma once

#include <limits>
#include <span>

#include "runtime/engine/generation/generation_options.h"

namespace smelt {

/// Score of a token that may not be chosen.
inline constexpr double kBanned = -std::numeric_limits<double>::infinity();

/// A sequence up to now. Padding counts as tokens, as in transformers, but the repetition penalty ignores it.
struct History {
  std::span<const int32_t> tokens;              // the decoder's prompt, then the new tokens
  size_t prompt_length = 0, padding = 0;        // tokens of the prompt; padding tokens at its beginning
  std::span<const int32_t> source;              // input of the encoder; without an encoder, the prompt
  std::span<const int32_t> chosen_before = {};  // tokens that earlier groups of beams chose in this step
};

/// Applies all processors that the options select to `scores`, the logits or log-probabilities of the tokens
/// of the vocabulary. Requires: the options are validated for this vocabulary, because ids are not checked
/// again.
void process_scores(const GenerationOptions& options, const History& history, std::span<double> scores);

}  // namespace smelt
