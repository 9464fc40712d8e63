#include "compiler/server/http_routes.h"

#include <algorithm>
#include <new>
#include <string_view>

#include "compiler/server/http_limits.h"
#include "compiler/server/metrics_text.h"
#include "compiler/server/page.h"

namespace smelt::server {
namespace {

constexpr const char *kOpenAi = "/v1/", *kHealth = "/health", *kPagePath = "/", *kModels = "/v1/models";
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
  if (std::ranges::find(route::kPosts, path) != std::end(route::kPosts)) return "POST";
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

/// Pages and /health need no model; while the server drains, only new completions are refused.
void require_state(ServerState state, const HttpHead& head) {
  if (head.path == kPagePath || head.path == kHealth) return;
  if (state == ServerState::starting)
    throw ApiError(http::kUnavailable, "the server is starting: the model is not ready yet", "", "starting");
  if (state == ServerState::draining && head.method == "POST")
    throw ApiError(http::kUnavailable, "the server completes its requests, and then ends", "",
                   "shutting_down");
}

HttpReply state_reply(int status, const char* state) {
  HttpReply reply{.status = status, .body = fmt::format(R"({{"status":"{}"}})", state)};
  if (status == http::kUnavailable) reply.fields.emplace_back("Retry-After", "1");
  return reply;
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

void HttpRoutes::serve(BatchService& batch, ModelService& model) {
  batch_ = &batch, model_ = &model;
  state_ =
      ServerState::ready;  // last: other threads read the pointers only if the server is no longer starting
}

/// A preflight has no key.
std::optional<HttpReply> HttpRoutes::preflight(const HttpHead& head) const {
  if (head.method != "OPTIONS" || !head.asked_method || !origins_.has(head.origin)) return std::nullopt;
  hosts_.check(head.host, std::nullopt);
  const char* methods = methods_of(head.path);
  if (!methods) throw ApiError(http::kNotFound, fmt::format("there is no {}", head.path));
  return AllowedOrigins::preflight_reply(head, methods);
}

std::string HttpRoutes::check(const HttpHead& head) const {
  hosts_.check(head.host, origins_.has(head.origin) ? std::nullopt : head.origin);
  const char* methods = pages_ ? "GET, HEAD" : methods_of(head.path);
  if (!methods) throw ApiError(http::kNotFound, fmt::format("there is no {} {}", head.method, head.path));
  if (!is_of(head.method, methods)) throw MethodError(head, methods);
  if (pages_) return "";
  const bool is_post = head.method == "POST";
  std::string client = is_post || head.path.starts_with(kOpenAi) ? keys_.name_of(head.authorization) : "";
  if (is_post) check_body(head);
  require_state(state_, head);
  if (is_post) model_->require_path(head.path);
  return client;
}

HttpReply HttpRoutes::health() const {
  const ServerState state = state_;
  if (state == ServerState::starting) return state_reply(http::kUnavailable, "starting");
  if (const std::string fault = batch_->fault(); !fault.empty()) throw ApiError(http::kServerError, fault);
  if (state == ServerState::draining) return state_reply(http::kUnavailable, "draining");
  return state_reply(http::kOk, "ok");
}

/// A server that is starting has no model yet.
HttpReply HttpRoutes::page() const {
  if (state_ != ServerState::starting && !model_->has_page())
    throw ApiError(http::kNotFound,
                   fmt::format("there is no page for '{}', which generates no text", model_->name()));
  return {.type = kHtml, .body = chat_page()};
}

HttpReply HttpRoutes::page_at(const std::string& path) const {
  if (auto reply = pages_(path)) return std::move(*reply);
  throw ApiError(http::kNotFound, fmt::format("there is no page {}", path));
}

AdapterMetrics HttpRoutes::adapter_metrics() const {
  const AdapterStore* const store = batch_->adapters();
  return {.store = store ? store->counts() : AdapterStoreCounts(), .requests = batch_->adapter_counts()};
}

HttpReply HttpRoutes::get(const std::string& path) const {
  if (pages_) return page_at(path);
  if (path == kPagePath) return page();
  if (path == kHealth) return health();
  if (path == "/metrics")
    return {.type = kMetricsType,
            .body = metrics_text(batch_->counts(), batch_->times(), adapter_metrics(), replies_)};
  if (path == kModels) return {.body = model_->models()};
  return {.body = model_->model(path.substr(std::string_view(kModels).size() + 1))};
}

bool HttpRoutes::replies_at_once(const std::string& path) { return route::replies_at_once(path); }

HttpReply HttpRoutes::reply(const std::string& path, std::string_view body) const {
  return {.body = model_->reply(path, body)};
}

std::shared_ptr<Answer> HttpRoutes::post(const std::string& path, std::string_view body) const {
  return model_->post(path, body);
}

HttpReply error_reply(const std::exception& thrown) {
  const ApiError error = as_api_error(thrown);
  HttpReply reply{.status = error.http_status(), .body = error_body(error)};
  static constexpr const char* kPassing[] = {"overloaded", "starting", "shutting_down",
                                             "rate_limit_exceeded"};
  if (std::ranges::find(kPassing, error.code()) != std::end(kPassing))
    reply.fields.emplace_back("Retry-After", "1");
  if (error.http_status() == http::kUnauthorized) reply.fields.emplace_back("WWW-Authenticate", "Bearer");
  if (const auto* method = dynamic_cast<const MethodError*>(&thrown))
    reply.fields.emplace_back("Allow", method->allow);
  return reply;
}

}  // namespace smelt::server
