#include "runtime/engine/serving/token_request.h"

#include <algorithm>
#include <utility>

#include "runtime/engine/serving/api_error.h"
#include "runtime/system/json_members.h"
#include "runtime/system/json_text.h"

namespace smelt {
namespace {

using TokenJson = nlohmann::ordered_json;

[[noreturn]] void refuse_token_field(const char* name, const TokenJson& value, const char* expected) {
  throw ApiError(http::kBadRequest, fmt::format("{} = {}: expected {}", name, brief(Json(value)), expected),
                 name, "invalid_value");
}

bool take_flag(TokenJson& body, const char* name, bool otherwise) {
  const TokenJson value = take_member(body, name);
  if (!value.is_null() && !value.is_boolean()) refuse_token_field(name, value, "true or false");
  return value.is_null() ? otherwise : value.get<bool>();
}

std::optional<std::string> take_model(TokenJson& body) {
  const TokenJson value = take_member(body, "model");
  if (value.is_null()) return std::nullopt;
  if (!value.is_string()) refuse_token_field("model", value, "a name");
  return value.get<std::string>();
}

/// Refuses the fields that were not taken.
void require_none_left(const TokenJson& body) {
  if (body.empty()) return;
  const std::string name = body.begin().key();
  throw ApiError(http::kBadRequest, fmt::format("there is no option '{}'", name), name, "unknown_parameter");
}

bool is_token_id(const TokenJson& id) {
  return id.is_number_integer() && id.get<int64_t>() >= 0 && id.get<int64_t>() <= INT32_MAX;
}

std::string take_text(TokenJson& body) {
  const TokenJson prompt = take_member(body, "prompt");
  if (prompt.is_null())
    throw ApiError(http::kBadRequest, "there is neither a prompt nor messages", "prompt",
                   "missing_required_parameter");
  if (!prompt.is_string()) refuse_token_field("prompt", prompt, "a text");
  return prompt.get<std::string>();
}

/// Reads the fields of a chat. Those that a chat has in common with a completion have no meaning here.
ChatRequest take_chat(TokenJson body) {
  if (body.contains("prompt") && !body["prompt"].is_null())
    refuse_token_field("prompt", body["prompt"], "a prompt or messages");
  body.erase("prompt");
  ChatRequest chat = read_parsed_chat_request(std::move(body));
  chat.completion.erase("add_special_tokens");
  require_none_left(chat.completion);
  return chat;
}

}  // namespace

TokenizeRequest read_tokenize_request(std::string_view text) {
  TokenJson body = parse_request_body(text);
  const bool is_chat = body.contains("messages") && !body["messages"].is_null();
  TokenizeRequest request;
  request.model = take_model(body);
  request.add_special_tokens = take_flag(body, "add_special_tokens", !is_chat);
  request.return_token_strs = take_flag(body, "return_token_strs", false);
  if (is_chat) {
    request.chat = take_chat(std::move(body));
    return request;
  }
  body.erase("messages");
  request.prompt = take_text(body);
  require_none_left(body);
  return request;
}

DetokenizeRequest read_detokenize_request(std::string_view text) {
  TokenJson body = parse_request_body(text);
  DetokenizeRequest request;
  request.model = take_model(body);
  const TokenJson tokens = take_member(body, "tokens");
  if (tokens.is_null())
    throw ApiError(http::kBadRequest, "there are no tokens", "tokens", "missing_required_parameter");
  if (!tokens.is_array() || !std::ranges::all_of(tokens, is_token_id))
    refuse_token_field("tokens", tokens, "a list of token ids");
  request.tokens = tokens.get<std::vector<int32_t>>();
  require_none_left(body);
  return request;
}

}  // namespace smelt
