// Requests to a continuous batch, and their progress.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/engine/generation/generation_options.h"

namespace smelt {

/// Returns the text that a token adds; called without one, the text that was held back.
using TextOfTokens = std::function<std::string(std::optional<int32_t>)>;

struct Request {
  std::vector<int32_t> prompt;
  GenerationOptions options;  // of one sequence without beams
  /// Its random numbers are those of sequence `index` of Generator::generate.
  size_t index = 0;
  TextOfTokens text = {};              // has read the prompt; empty: there is no text
  std::vector<std::string> stop = {};  // texts that end a sequence and are no part of its result
  /// Number of most probable tokens reported with each new one; nothing: no log-probabilities at all.
  std::optional<size_t> log_probabilities = {};
};

/// Why a sequence has ended: `stop` by an end token or a stop text, `length` by max_new_tokens.
enum class Finish : uint8_t { none, stop, length, cancelled, failed };

struct NewToken {
  int32_t id = 0;
  /// By the model's own logits, as in Generator; 0 if not requested.
  float log_probability = 0;
  std::vector<std::pair<int32_t, float>> best = {};
  size_t text_begin = 0;  // characters of the text before it
};

/// Progress since the last call.
struct Progress {
  std::vector<NewToken> tokens;  // the end token, and those of a stop text, among them
  std::string text;
  Finish finish = Finish::none;
  std::string error;               // of Finish::failed
  bool is_requests_fault = false;  // the error is of the request's own options

  bool is_news() const { return !tokens.empty() || !text.empty() || finish != Finish::none; }
};

}  // namespace smelt
