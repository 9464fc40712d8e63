#include "compiler/server/http_routes.h"

#include <algorithm>
#include <new>
#include <string_view>

#include "compiler/server/http_limits.h"
#include "compiler/server/metrics_text.h"
#include "compiler/server/page.h"

namespace smelt::server {
namespace {

constexpr const char *kCompletions = "/v1/completions", *kChat = "/v1/chat/completions",
                     *kModels = "/v1/models";
constexpr const char *kHtml = "text/html; charset=utf-8", *kMetricsType = "text/plain; version=0.0.4";

class MethodError : public ApiError {
 public:
  MethodError(const HttpHead& head, const char* allow)
      : ApiError(http::kNotAllowed,
                 fmt::format("{} of {}: expected {}", head.method.substr(0, 20), head.path, allow)),
        allow(allow) {}
  const char* allow;
};

/// Methods of a path; null where there is nothing.
const char* methods_of(const std::string& path) {
  if (path == kCompletions || path == kChat) return "POST";
  if (path == "/" || path == "/metrics" || path == "/health" || path == kModels) return "GET, HEAD";
  return path.starts_with(std::string(kModels) + "/") ? "GET, HEAD" : nullptr;
}

bool is_of(const std::string& method, std::string_view methods) {
  return methods == "POST" ? method == "POST" : method == "GET" || method == "HEAD";
}

void check_body(const HttpHead& head) {
  if (head.content_type.starts_with("multipart/"))
    throw ApiError(http::kUnsupported, "the body: a multipart form; expected a JSON object");
  if (!head.content_encoding.empty() && head.content_encoding != "identity")
    throw ApiError(http::kUnsupported, "Content-Encoding: expected a body that is not compressed");
  if (!head.has_length) throw ApiError(http::kNoLength, "there is no Content-Length: expected a body");
}

ApiError as_api_error(const std::exception& thrown) {
  if (const auto* error = dynamic_cast<const Error*>(&thrown)) return api_error(*error);
  if (dynamic_cast<const std::bad_alloc*>(&thrown))
    return {http::kUnavailable, "memory does not suffice for this request now", "", "overloaded"};
  return {http::kServerError, thrown.what()};
}

}  // namespace

void check_framing(const HttpHead& head) {
  if (head.fields > kMostFields)
    throw ApiError(http::kHeadTooLarge, fmt::format("the request has more than {} fields", kMostFields));
  if (head.has_two_hosts || (head.is_http_1_1 && !head.host))
    throw ApiError(http::kBadRequest, "expected one Host field");
  if (head.has_two_lengths)
    throw ApiError(http::kBadRequest, "expected either Content-Length or Transfer-Encoding, and one of it");
  if (head.has_other_coding)
    throw ApiError(http::kNotImplemented, "Transfer-Encoding: expected chunked, in HTTP/1.1");
  if (!head.expect.empty() && head.expect != "100-continue")
    throw ApiError(http::kExpectation, "Expect: expected 100-continue");
}

void HttpRoutes::check(const HttpHead& head) const {
  hosts_.check(head.host, head.origin);
  const char* methods = methods_of(head.path);
  if (!methods) throw ApiError(http::kNotFound, fmt::format("there is no {} {}", head.method, head.path));
  if (!is_of(head.method, methods)) throw MethodError(head, methods);
  if (head.method == "POST") check_body(head);
}

HttpReply HttpRoutes::get(const std::string& path) const {
  if (path == "/") return {.type = kHtml, .body = std::string(kPage)};
  if (path == "/metrics") return {.type = kMetricsType, .body = metrics_text(batch_.counts(), replies_)};
  if (path == kModels) return {.body = completions_.models()};
  if (path != "/health")
    return {.body = completions_.model(path.substr(std::string_view(kModels).size() + 1))};
  if (const std::string fault = batch_.fault(); !fault.empty()) throw ApiError(http::kServerError, fault);
  return {.body = R"({"status":"ok"})"};
}

std::shared_ptr<CompletionAnswer> HttpRoutes::post(const std::string& path, std::string_view body) const {
  return path == kChat ? completions_.answer_chat(body) : completions_.answer(body);
}

HttpReply error_reply(const std::exception& thrown) {
  const ApiError error = as_api_error(thrown);
  HttpReply reply{.status = error.http_status(), .body = error_body(error)};
  if (error.code() == "overloaded") reply.fields.emplace_back("Retry-After", "1");
  if (const auto* method = dynamic_cast<const MethodError*>(&thrown))
    reply.fields.emplace_back("Allow", method->allow);
  return reply;
}

}  // namespace smelt::server
