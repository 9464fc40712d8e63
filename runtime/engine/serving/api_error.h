// Errors of requests that are refused, and the replies that an HTTP client receives for them.
#pragma once

#include <string>
#include <utility>

#include "runtime/base/error.h"

namespace smelt {

/// HTTP status codes.
namespace http {
inline constexpr int kOk = 200, kBadRequest = 400, kUnauthorized = 401, kForbidden = 403, kNotFound = 404,
                     kNotAllowed = 405, kTimeout = 408, kNoLength = 411, kTooLarge = 413, kUnsupported = 415,
                     kExpectation = 417, kTooMany = 429, kHeadTooLarge = 431, kServerError = 500,
                     kNotImplemented = 501, kUnavailable = 503;
}  // namespace http

/// An Error with the additional fields of error replies of OpenAI's API.
class ApiError : public Error {
 public:
  ApiError(int http_status, const std::string& message, std::string param = "", std::string code = "")
      : Error(message), http_status_(http_status), param_(std::move(param)), code_(std::move(code)) {}

  int http_status() const { return http_status_; }
  const std::string& param() const { return param_; }  // wrong field of the request; empty: none
  const std::string& code() const { return code_; }    // name of the kind of error; empty: none

 private:
  int http_status_;
  std::string param_, code_;
};

/// Returns an ApiError unchanged. Other errors get the HTTP status 400 if the request is at fault
/// (invalid_argument), 503 if they are `unavailable`, else 500.
ApiError api_error(const Error& error);
/// Returns the body of the reply: {"error": {"message", "type", "param", "code"}}. Long texts are truncated,
/// because they may be from the request.
std::string error_body(const ApiError& error);

}  // namespace smelt
