// Errors that an HTTP client receives for a request that is refused.
#pragma once

#include <string>
#include <utility>

#include "runtime/base/error.h"

namespace smelt {

namespace http {
inline constexpr int kBadRequest = 400, kForbidden = 403, kNotFound = 404, kNotAllowed = 405, kTimeout = 408,
                     kNoLength = 411, kTooLarge = 413, kUnsupported = 415, kExpectation = 417,
                     kHeadTooLarge = 431, kServerError = 500, kNotImplemented = 501, kUnavailable = 503;
}  // namespace http

/// An Error with the additional fields that OpenAI's clients read.
class ApiError : public Error {
 public:
  ApiError(int http_status, const std::string& message, std::string param = "", std::string code = "")
      : Error(message), http_status_(http_status), param_(std::move(param)), code_(std::move(code)) {}

  int http_status() const { return http_status_; }
  const std::string& param() const { return param_; }  // the field of the body; empty: none
  const std::string& code() const { return code_; }

 private:
  int http_status_;
  std::string param_, code_;
};

/// Converts any other error: faults of the request are the client's, all others the server's.
ApiError api_error(const Error& error);
/// Returns {"error": {"message", "type", "param", "code"}}; long texts, which may be the client's, are
/// truncated.
std::string error_body(const ApiError& error);

}  // namespace smelt
