// JSON of replies to POST /v1/completions and /v1/chat/completions: one object, or a stream of events that
// have a few new tokens each.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/engine/serving/request.h"
#include "runtime/system/json_text.h"
#include "runtime/tools/tool_parser.h"

namespace smelt {

/// Fields common to all parts of one reply.
struct CompletionHead {
  bool is_chat = false;
  std::string id, model;
  int64_t created = 0;                                // seconds since 1970
  std::function<std::string(int32_t)> text_of_token;  // text of a single token, for log-probabilities
};

/// Counts of tokens that a reply reports as "usage".
struct CompletionUsage {
  size_t prompt_tokens = 0, new_tokens = 0;
};

/// Returns an element of "choices" with the text, the tokens and the finish_reason of `progress`.
/// finish_reason is "stop" or "length" if `progress` has such an end, else null. `index` is the number of the
/// choice in the reply.
Json completion_choice(const CompletionHead& head, size_t index, const Progress& progress,
                       bool log_probabilities);

/// A choice of a chat: all of it, or the new part of it for one event.
struct ChatPart {
  bool is_event = false, begins = false;  // begins: the first part of the choice, which has the role
  bool reads_calls = false;               // whether the text was divided into content and calls
  bool has_called = false;                // whether the choice has a call, here or in an earlier part
  tools::ParsedPiece message = {};        // the text, as content alone unless `reads_calls`
};
/// Returns whether an event of a stream has anything to say: the beginning or the end of the choice, content,
/// calls or log-probabilities.
bool is_news(const ChatPart& part, const Progress& progress, bool log_probabilities);
/// Returns an element of "choices" of a chat, with the message of the assistant as `message` or, of an event,
/// `delta`. finish_reason is "tool_calls" where completion_choice has "stop" and the choice has a call.
Json chat_choice(const CompletionHead& head, size_t index, const Progress& progress, bool log_probabilities,
                 const ChatPart& part);

/// Returns a whole reply, or one event of a stream, as text. `usage` may be null.
std::string completion_body(const CompletionHead& head, const Json& choices, const CompletionUsage* usage,
                            bool is_event = false);

/// Appends later progress of the same sequence to `all`.
void append(Progress& all, Progress fresh);

}  // namespace smelt
