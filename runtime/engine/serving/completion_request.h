// The body of a request POST /v1/completions, with the fields of OpenAI's API and additional options under
// the names of transformers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/engine/generation/generation_options.h"
#include "runtime/structured/specification.h"

namespace smelt {

/// The fields of a request, checked and with default values.
struct CompletionRequest {
  struct Prompt {
    std::string text;  // used if `tokens` is empty
    std::vector<int32_t> tokens;
  };
  std::optional<std::string> model;
  std::vector<Prompt> prompts;
  /// Most tokens of a prompt, of which the last ones are read; -1: as many as leave room for
  /// max_new_tokens. Nothing: longer prompts are refused.
  std::optional<int64_t> truncated_tokens;
  GenerationOptions options;  // of each choice
  std::vector<std::string> stop;
  int64_t min_tokens = 0;      // new tokens in whose text no stop text is looked for
  bool includes_stop = false;  // whether the text of a choice has the stop text or end token that ends it
  std::vector<std::string> bad_words;            // texts that may not come
  std::vector<std::string> kept_special_tokens;  // are part of the text, unlike other special tokens
  int64_t n = 1;                                 // choices per prompt that are returned
  int64_t best_of = 1;  // choices per prompt that are generated, at least n (best_choices.h)
  /// Beams of a beam search per prompt, of which the `n` best sequences are returned. 1: there is no search.
  int64_t beams = 1;
  /// Returns how many requests of the batch each prompt is.
  int64_t requests_per_prompt() const { return beams > 1 ? 1 : best_of; }
  /// Number of most probable tokens that are reported with each new token, and, if `echo`, with each token of
  /// the prompt. Nothing: no log-probabilities are reported.
  std::optional<int64_t> log_probabilities;
  /// Number of most probable tokens that are reported with each token of the prompt, in vLLM's form.
  std::optional<int64_t> prompt_log_probabilities;
  std::optional<uint32_t> seed;
  int32_t priority = 0;  // requests with a smaller number begin first
  /// First token of the decoder of an encoder-decoder; nothing: the model's own.
  std::optional<int32_t> decoder_start_token_id;
  /// Constraint on the text of a choice, from response_format and similar fields; nothing: any text.
  std::optional<structured::Specification> specification;
  bool stream = false, include_usage = false, echo = false, add_special_tokens = true;
  bool skips_special_tokens = true;  // false: all special tokens are part of the text
  /// Returns the number of most probable tokens to compute for each token of a prompt; nothing:
  /// log-probabilities of prompts are not computed.
  std::optional<int64_t> scored_prompt() const {
    return prompt_log_probabilities || !echo ? prompt_log_probabilities : log_probabilities;
  }
};

/// Upper bounds per request: choices of all prompts together, stop texts, kept special tokens, and bad words.
constexpr int64_t kMostChoices = 128, kMostStops = 16, kMostKeptTokens = 16, kMostBadWords = 128;
/// Further upper bounds, which limit memory: the bytes of one of these texts; the sequences
/// in a list of token sequences, such as bad_words_ids; and the token ids in all lists together.
constexpr size_t kMostStopBytes = 256, kMostSequencesOfIds = 1024, kMostIds = 4096;

/// Returns the options of a request that sets none: those of the model (Plan::model) with three changes. One
/// sequence is generated; it is sampled; and top_k is off unless the model's generation config sets it.
GenerationOptions completion_defaults(std::string_view model);

/// Parses the body of a request. Options that it does not set are those of `defaults`, but max_tokens is 16.
/// Throws ApiError naming the field if a field is wrong or not supported.
CompletionRequest read_completion_request(std::string_view body, const GenerationOptions& defaults);

}  // namespace smelt
