// Requests to a continuous batch (continuous_batch.h), and their progress.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/engine/generation/generation_options.h"
#include "runtime/structured/constrained_text.h"

namespace smelt {

/// Function that returns the text that a new token adds. Bytes of an incomplete character are not returned
/// until later tokens complete the character. A call without a token ends the text, and returns the bytes
/// that are left.
using TextOfTokens = std::function<std::string(std::optional<int32_t>)>;

struct ServedAdapter;  // adapter_store.h

/// A prompt to continue, and the options for its new tokens. For a TextBatch (text_batch.h), `prompt` is the
/// whole text, and the other members except the next two have no effect.
struct Request {
  std::vector<int32_t> prompt;
  /// Input of the encoder, if the model has an encoder and a decoder; otherwise empty. `prompt` is then the
  /// decoder's first token, decoder_start_token_id.
  std::vector<int32_t> source = {};
  std::vector<int32_t> token_types = {};  // of a TextBatch: the type of each token; empty: all 0
  size_t unpooled = 0;                    // of a TextBatch: tokens at the beginning that pooling leaves out
  /// For one sequence, or for a beam search with num_beams above 1, whose num_return_sequences best sequences
  /// are reported when the search ends.
  GenerationOptions options;
  /// Selects the random numbers: those that Generator::generate uses for sequence number `index`.
  size_t index = 0;
  /// Returns the text that options which depend on the input compare new tokens with.
  std::span<const int32_t> input() const { return source.empty() ? prompt : source; }
  /// Called for each new token. Before the request is submitted, this function must be called for the last
  /// tokens of the prompt, because they are the context of the first new tokens. Empty: the progress has no
  /// text.
  TextOfTokens text = {};
  /// Returns the text of all new tokens of a sequence that a beam search has found, without an end token.
  /// Empty: the results have no text.
  std::function<std::string(std::span<const int32_t>)> text_of_beam = {};
  std::vector<std::string> stop = {};  // texts that end the sequence, and are not part of its text
  /// Number of new tokens in whose text no stop text is looked for.
  size_t unstopped_tokens = 0;
  /// If true, the stop text or the text of the end token that ends the sequence is part of its text. Not for
  /// beam searches.
  bool includes_stop = false;
  /// If set, only some texts are allowed, such as those of a JSON Schema. The object has the text so far, and
  /// determines the tokens that may come next; the host samples one of them.
  std::shared_ptr<structured::ConstrainedText> constrained = {};
  /// Number of most probable tokens that are reported with each new token. Nothing: no log-probabilities are
  /// reported.
  std::optional<size_t> log_probabilities = {};
  /// Number of most probable tokens that are reported with each token of the prompt. The prompt is then read
  /// token by token, as new tokens are, and the host samples. Nothing: no log-probabilities of the prompt are
  /// reported.
  std::optional<size_t> prompt_log_probabilities = {};
  /// For each token of the prompt, the number of characters of the prompt's text before the token; then the
  /// number of characters of the whole prompt. The first new token has the last number as its text_begin.
  /// Empty: the prompt has no text.
  std::vector<size_t> prompt_begins = {};
  /// Low-rank adapter with which the model reads and continues the prompt (AdapterStore::find); null: none.
  /// The request keeps the adapter until its end.
  std::shared_ptr<const ServedAdapter> adapter = {};
  /// Requests with a smaller number begin first; those with the same number begin in the order of their
  /// arrival. A running request keeps its place in the batch.
  int32_t priority = 0;
};

/// Reason for the end of a sequence. `none`: it has not ended. `stop`: an end token or a stop text. `length`:
/// max_new_tokens.
enum class Finish : uint8_t { none, stop, length, cancelled, failed };

/// A generated token, or one of a prompt, as it is reported.
struct NewToken {
  int32_t id = 0;
  /// Log-probability by the model's logits, before the options change them; 0 if not requested.
  float log_probability = 0;
  std::vector<std::pair<int32_t, float>> best = {};  // most probable tokens and their log-probabilities
  size_t text_begin = 0;                             // number of characters of the text before this token
  bool has_log_probability = true;  // false for the first token of a prompt, which nothing precedes
  size_t rank = 0;                  // of a token of a prompt: 1 if it is the most probable one
  uint64_t weights_version = 0;     // version of the weights that computed its logits (weight_update.h)
};

/// Progress of a request since the last report.
struct Progress {
  /// Tokens of the prompt whose log-probabilities have become known, and its first token, if
  /// Request::prompt_log_probabilities is set. They are reported before any new token.
  std::vector<NewToken> prompt = {};
  std::vector<NewToken> tokens;  // including the end token and the tokens of a stop text
  std::string text;
  std::vector<Progress> beams = {};  // of a beam search that has ended with `stop`: its results, best first
  std::optional<float> score = {};   // of a result of a beam search
  std::vector<float> vector = {};    // of a TextBatch that has ended with `stop`: the text's vector or scores
  size_t draft_tokens = 0, kept_draft_tokens = 0;  // drafted tokens that were read; those that were sampled
  bool has_begun = false;  // true in the first report after the request has left the queue
  Finish finish = Finish::none;
  std::string error;               // message if `finish` is `failed`
  bool is_requests_fault = false;  // whether the request's options caused the error

  /// Returns whether there is anything to report.
  bool is_news() const {
    return !prompt.empty() || !tokens.empty() || !text.empty() || finish != Finish::none;
  }
};

}  // namespace smelt
