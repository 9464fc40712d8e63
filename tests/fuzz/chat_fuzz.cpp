// Any bytes as the body of POST /v1/chat/completions, /v1/responses, /tokenize and /detokenize: an ApiError
// whose own body is JSON, or a chat whose messages, tools and calls have the form that chat templates expect.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "runtime/engine/serving/api_error.h"
#include "runtime/engine/serving/chat_request.h"
#include "runtime/engine/serving/response_request.h"
#include "runtime/engine/serving/token_request.h"

namespace smelt {
namespace {

void require(bool held) {
  if (!held) std::abort();
}

void check_message(const nlohmann::ordered_json& message) {
  require(message.is_object() && message["role"].is_string());
  if (!message.contains("tool_calls") || message["tool_calls"].is_null()) return;
  require(message["role"] == "assistant" && !message["tool_calls"].empty());
  for (const auto& call : message["tool_calls"])
    require(call["function"]["name"].is_string() && call["function"]["arguments"].is_object());
}

void check(const ChatRequest& chat) {
  require(!chat.messages.empty() && chat.messages.size() <= kMostMessages);
  for (const auto& message : chat.messages) check_message(message);
  require(chat.tools.list.is_null() ? !chat.tools.reads_calls : !chat.tools.list.empty());
  for (const auto& tool : chat.tools.list) require(tool["function"]["name"].is_string());
  for (const char* name : {"messages", "tools", "tool_choice", "parallel_tool_calls"})
    require(!chat.completion.contains(name));
}

void check_tokens(const TokenizeRequest& request) {
  if (request.chat) check(*request.chat);
}

/// Calls a function, which may throw an ApiError alone.
template <typename Read>
void read_or_refuse(const Read& read) {
  try {
    read();
  } catch (const ApiError& error) {
    require(parse_json(error_body(error), "error")["error"]["message"].is_string());
  }
}

}  // namespace
}  // namespace smelt

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace smelt;
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  read_or_refuse([&] { check(read_chat_request(body)); });
  read_or_refuse([&] { check(read_parsed_chat_request(read_response_request(body).chat)); });
  read_or_refuse([&] { check_tokens(read_tokenize_request(body)); });
  read_or_refuse([&] { read_detokenize_request(body); });
  return 0;
}
