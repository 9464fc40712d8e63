// What POST /v1/completions answers: one object, or an event with every few tokens.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/serving/request.h"
#include "runtime/system/json_text.h"

namespace smelt {

/// What all parts of one answer have in common.
struct CompletionHead {
  std::string id, model;
  int64_t created = 0;                                // seconds since 1970
  std::function<std::string(int32_t)> text_of_token;  // for log-probabilities
};

struct CompletionUsage {
  size_t prompt_tokens = 0, new_tokens = 0;
};

/// A choice, or what is new of it: `text` and tokens with the reason of its end, null before it.
Json completion_choice(const CompletionHead& head, size_t index, const Progress& progress,
                       bool log_probabilities);
/// The whole answer. `usage`, where given, is told.
std::string completion_body(const CompletionHead& head, const Json& choices, const CompletionUsage* usage);

/// Adds what is new to what is known.
void append(Progress& all, Progress fresh);

}  // namespace smelt
