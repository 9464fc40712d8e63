// The bodies of POST /tokenize and POST /detokenize, with the fields of vLLM's API.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/engine/serving/chat_request.h"

namespace smelt {

/// A text, or a chat whose text the model's chat template writes.
struct TokenizeRequest {
  std::optional<std::string> model;
  std::string prompt;               // used if there is no chat
  std::optional<ChatRequest> chat;  // fields of generation, such as temperature, are refused
  bool add_special_tokens = true;   // by default true for a text and false for a chat
  bool return_token_strs = false;
};

struct DetokenizeRequest {
  std::optional<std::string> model;
  std::vector<int32_t> tokens;
};

/// Parses the bodies. Throws ApiError naming the field if a field is wrong or not supported.
TokenizeRequest read_tokenize_request(std::string_view body);
DetokenizeRequest read_detokenize_request(std::string_view body);

}  // namespace smelt
