// JSON of replies to POST /v1/completions and /v1/chat/completions. A reply is one object, or a stream of
// events, each of which has a few new tokens.
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

/// The log-probabilities that a choice reports. new_tokens: those of the new tokens. echoed_prompt: those of
/// the prompt, in the same lists before the new tokens. prompt: those of the prompt in the separate field
/// prompt_logprobs, as vLLM does.
struct ReportedScores {
  bool new_tokens = false, echoed_prompt = false, prompt = false;
};
/// Returns an element of "choices" with the text, the tokens and the finish_reason of `progress`.
/// finish_reason is "stop" or "length" if `progress` has such an end, else null. `index` is the number of the
/// choice in the reply. The result of a beam search has its "score". The first token of a prompt has the
/// log-probability null.
Json completion_choice(const CompletionHead& head, size_t index, const Progress& progress,
                       const ReportedScores& scores);

/// A choice (one of the alternative answers) of a chat: the whole choice, or its new part for one event of a
/// stream.
struct ChatPart {
  bool is_event = false, begins = false;  // begins: this is the first part of the choice
  bool reads_calls = false;               // whether the text was divided into content and tool calls
  bool has_called = false;                // whether the choice has a call, here or in an earlier part
  tools::ParsedPiece message = {};        // the text; if not `reads_calls`, all of it is content
};
/// Returns whether an event must be sent: whether it has the beginning or the end of the choice, content,
/// calls or log-probabilities.
bool is_news(const ChatPart& part, const Progress& progress, bool log_probabilities);
/// Returns an element of "choices" of a chat. The assistant's message is the member "message", or "delta" in
/// an event. finish_reason is that of completion_choice, but "tool_calls" instead of "stop" if the choice has
/// a call.
Json chat_choice(const CompletionHead& head, size_t index, const Progress& progress, bool log_probabilities,
                 const ChatPart& part);

/// Returns a whole reply, or one event of a stream, as text. `usage` may be null.
std::string completion_body(const CompletionHead& head, const Json& choices, const CompletionUsage* usage,
                            bool is_event = false);

/// Appends `fresh`, later progress of the same sequence, to `all`.
void append(Progress& all, Progress fresh);

}  // namespace smelt
