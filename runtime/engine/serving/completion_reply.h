// Replies to POST /v1/completions: one object, or a stream of events with a few tokens each.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/engine/serving/request.h"
#include "runtime/system/json_text.h"

namespace smelt {

/// Fields common to all parts of one reply.
struct CompletionHead {
  std::string id, model;
  int64_t created = 0;                                // seconds since 1970
  std::function<std::string(int32_t)> text_of_token;  // for log-probabilities
};

struct CompletionUsage {
  size_t prompt_tokens = 0, new_tokens = 0;
};

/// Returns a choice, or its new part: `text` and tokens with the reason of its end, null before it.
Json completion_choice(const CompletionHead& head, size_t index, const Progress& progress,
                       bool log_probabilities);
/// Returns the whole reply, with `usage` if that is given.
std::string completion_body(const CompletionHead& head, const Json& choices, const CompletionUsage* usage);

/// Appends the new progress to the earlier one.
void append(Progress& all, Progress fresh);

}  // namespace smelt
