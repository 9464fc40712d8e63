// The body of a request POST /v1/responses. A response is the answer to a chat, so the request is translated
// to the body of POST /v1/chat/completions.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "runtime/system/json_text.h"

namespace smelt {

struct ResponseRequest {
  nlohmann::ordered_json chat;  // body of POST /v1/chat/completions
  Json fields;                  // fields of the request that the response object repeats
};

/// Largest number of items of a request's `input`.
constexpr size_t kMostItems = 4096;

/// Parses and translates a body. Throws ApiError naming the field if a field is wrong or not supported.
/// Fields that a chat request also has, under the same names, are not checked here, but by the function that
/// reads ResponseRequest::chat (chat_request.h).
ResponseRequest read_response_request(std::string_view body);

}  // namespace smelt
