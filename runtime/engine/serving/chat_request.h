// The body of a request POST /v1/chat/completions. The model's chat template converts the messages to a text,
// and the answer is a completion of this text. So most other fields have the meaning of a field of
// POST /v1/completions. Some of them have another name in a chat.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "runtime/engine/serving/chat_tools.h"
#include "runtime/system/json_text.h"

namespace smelt {

struct ChatRequest {
  nlohmann::ordered_json messages;  // a list of objects with "role"; arguments of tool calls are objects
  ChatTools tools;
  nlohmann::ordered_json documents;  // null: none
  nlohmann::ordered_json variables;  // chat_template_kwargs, an object
  bool add_generation_prompt = true, continue_final_message = false;
  /// The other fields, as the body of a request POST /v1/completions. It has no prompt. It has max_tokens
  /// only if the chat request has a limit of new tokens.
  nlohmann::ordered_json completion;
  bool has_length() const { return completion.contains("max_tokens"); }
};

/// Largest number of messages in a chat.
constexpr size_t kMostMessages = 4096;

/// Parses the body of a request. Throws ApiError naming the field if a field of a chat is wrong or not
/// supported. The fields of `completion` are checked later, by read_completion_request.
ChatRequest read_chat_request(std::string_view body);
/// Does the same for a body that has been parsed. Requires: `body` is an object.
ChatRequest read_parsed_chat_request(nlohmann::ordered_json body);
/// Parses a body and keeps the order of its members. Throws ApiError if the body is not a JSON object.
nlohmann::ordered_json parse_request_body(std::string_view body);

}  // namespace smelt
