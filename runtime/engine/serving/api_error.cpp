#include "runtime/engine/serving/api_error.h"

#include <nlohmann/json.hpp>

namespace smelt {
namespace {

using Json = nlohmann::json;

std::string cut(const std::string& text) {
  constexpr size_t kMost = 2000, kEnd = 200;
  if (text.size() <= kMost) return text;
  return text.substr(0, kMost - kEnd) + " [...] " + text.substr(text.size() - kEnd);
}

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

}  // namespace

ApiError api_error(const Error& error) {
  if (const auto* own = dynamic_cast<const ApiError*>(&error)) return *own;
  if (error.status() == Status::unavailable) return {http::kUnavailable, error.what(), "", "overloaded"};
  const bool is_clients = error.status() == Status::invalid_argument;
  return {is_clients ? http::kBadRequest : http::kServerError, error.what()};
}

std::string error_body(const ApiError& error) {
  const char* type = error.http_status() < http::kServerError ? "invalid_request_error" : "server_error";
  const Json body = {{"error",
                      {{"message", cut(error.what())},
                       {"type", type},
                       {"param", text_or_null(cut(error.param()))},
                       {"code", text_or_null(error.code())}}}};
  return body.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace smelt
