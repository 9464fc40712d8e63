#include "compiler/server/http_server.h"

#include <httplib.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>

#include "compiler/server/metrics_text.h"
#include "compiler/server/page.h"
#include "runtime/serving/api_error.h"

namespace smelt::server {
namespace {

constexpr size_t kMostBytes = size_t{4} << 20;     // of a body
constexpr size_t kMostSkipped = size_t{64} << 20;  // of one that is too large, so that its client reads why
constexpr std::chrono::seconds kMostSeconds{30};   // until a body has come
constexpr int kPause = 5, kKeepAlive = 2;          // seconds without a byte, and between two requests
constexpr std::chrono::milliseconds kLook{200};    // how often a stream looks whether its client is there

constexpr const char *kJson = "application/json", *kEvents = "text/event-stream";

void answer_error(httplib::Response& response, const ApiError& error) {
  response.status = error.http_status();
  if (error.code() == "overloaded") response.set_header("Retry-After", "1");
  response.set_content(error_body(error), kJson);
}

ApiError too_large() { return {http::kTooLarge, fmt::format("the body has more than {} bytes", kMostBytes)}; }

/// What can be told before a byte of the body is read.
void check_head(const httplib::Request& request) {
  if (request.is_multipart_form_data())
    throw ApiError(http::kUnsupported, "the body: a multipart form; expected a JSON object");
  const bool chunked = request.has_header("Transfer-Encoding");
  if (!chunked && !request.has_header("Content-Length"))
    throw ApiError(http::kNoLength, "there is no Content-Length: expected a body");
  if (!chunked && request.get_header_value<uint64_t>("Content-Length") > kMostSkipped) throw too_large();
}

std::string read_body(const httplib::Request& request, const httplib::Response& response,
                      const httplib::ContentReader& reader) {
  check_head(request);
  const auto end = std::chrono::steady_clock::now() + kMostSeconds;
  std::string body;
  bool fits = true, in_time = true;
  const bool whole = reader([&](const char* data, size_t size) {
    fits = body.size() + size <= kMostBytes;
    in_time = std::chrono::steady_clock::now() < end;
    if (fits) body.append(data, size);
    return fits && in_time;
  });
  if (!fits || response.status == http::kTooLarge) throw too_large();
  if (!in_time)
    throw ApiError(http::kTimeout, fmt::format("the body took more than {} seconds", kMostSeconds.count()));
  if (!whole)
    throw ApiError(http::kBadRequest,
                   fmt::format("the body ended after {} bytes, before its end", body.size()));
  return body;
}

/// The client may go away at any time: then what runs for it is cancelled.
void stream(httplib::Response& response, const std::shared_ptr<CompletionAnswer>& answer) {
  response.set_header("Cache-Control", "no-cache");
  response.set_chunked_content_provider(
      kEvents,
      [answer](size_t, httplib::DataSink& sink) {
        if (!sink.is_writable()) return false;
        const std::string events = answer->events(kLook);
        if (!events.empty() && !sink.write(events.data(), events.size())) return false;
        if (answer->done()) sink.done();
        return true;
      },
      [answer](bool) { answer->abandon(); });
}

[[noreturn]] void refuse_chat() {
  throw ApiError(http::kBadRequest,
                 "chat templates are not rendered here: render the messages by the model's template and send "
                 "the text to /v1/completions, with \"add_special_tokens\": false where the template has "
                 "written them",
                 "messages", "unsupported_endpoint");
}

}  // namespace

class HttpServer::Routes {
 public:
  /// The library lets five connections wait to be taken, and a burst of more is reset.
  class Listener : public httplib::Server {
   public:
    void let_more_wait() {
      constexpr int kWaiting = 1024;
      ::listen(svr_sock_, kWaiting);
    }
  };

  Routes(BatchThread& batch, CompletionService& completions, size_t threads)
      : batch_(batch), completions_(completions) {
    server.new_task_queue = [threads] { return new httplib::ThreadPool(threads); };
    server.set_read_timeout(kPause).set_write_timeout(kPause).set_keep_alive_timeout(kKeepAlive);
    server.set_payload_max_length(kMostBytes).set_tcp_nodelay(true);  // a token is a small packet
    add_posts();
    add_gets();
    add_errors();
  }

  Listener server;

 private:
  void add_posts() {
    server.Post("/v1/completions", [this](const httplib::Request& request, httplib::Response& response,
                                          const httplib::ContentReader& reader) {
      const auto answer = completions_.answer(read_body(request, response, reader));
      if (answer->streams()) return stream(response, answer);
      response.set_content(answer->whole(), kJson);
    });
    server.Post("/v1/chat/completions", [](const httplib::Request& request, httplib::Response& response,
                                           const httplib::ContentReader& reader) {
      read_body(request, response, reader);
      refuse_chat();
    });
  }

  void add_gets() {
    const auto add = [this](const char* path, const char* type, const auto& text) {
      server.Get(path, [type, text](const httplib::Request&, httplib::Response& response) {
        response.set_content(text(), type);
      });
    };
    add("/", "text/html; charset=utf-8", [] { return std::string(kPage); });
    add("/v1/models", kJson, [this] { return completions_.models(); });
    add("/metrics", "text/plain; version=0.0.4", [this] {
      const std::lock_guard lock(mutex_);
      return metrics_text(batch_.counts(), responses_);
    });
    add("/health", kJson, [this] {
      if (const std::string fault = batch_.fault(); !fault.empty()) throw ApiError(http::kServerError, fault);
      return std::string(R"({"status":"ok"})");
    });
  }

  /// Whatever a handler throws, and what the library refuses by itself, has the API's shape.
  void add_errors() {
    server.set_exception_handler(
        [](const httplib::Request&, httplib::Response& response, const std::exception_ptr& thrown) {
          try {
            std::rethrow_exception(thrown);
          } catch (const Error& error) {
            answer_error(response, api_error(error));
          } catch (const std::exception& error) {
            answer_error(response, {http::kServerError, error.what()});
          }
        });
    server.set_error_handler([](const httplib::Request& request, httplib::Response& response) {
      if (!response.body.empty()) return;
      const bool unknown = response.status == http::kNotFound;
      answer_error(response,
                   {response.status, unknown ? fmt::format("there is no {} {}", request.method, request.path)
                                             : "the request cannot be read as HTTP"});
    });
    server.set_logger([this](const httplib::Request&, const httplib::Response& response) {
      const std::lock_guard lock(mutex_);
      ++responses_[response.status];
    });
  }

  BatchThread& batch_;
  CompletionService& completions_;
  std::mutex mutex_;
  std::map<int, uint64_t> responses_;
};

HttpServer::HttpServer(BatchThread& batch, CompletionService& completions, size_t threads)
    : routes_(std::make_unique<Routes>(batch, completions, threads)) {}

HttpServer::~HttpServer() = default;

int HttpServer::bind(const std::string& host, int port) {
  Routes::Listener& server = routes_->server;
  const int bound = port == 0 ? server.bind_to_any_port(host) : server.bind_to_port(host, port) ? port : -1;
  if (bound <= 0)
    fail_with(Status::unavailable,
              "{}:{}: cannot be listened at ({}); give another --host or --port, or 0 for any free one", host,
              port, std::strerror(errno));
  server.let_more_wait();
  return bound;
}

void HttpServer::listen() {
  struct End {
    std::atomic<bool>& ended;
    ~End() { ended = true; }
  } const end{ended_};
  routes_->server.listen_after_bind();
  if (!stopped_) fail_with(Status::io, "the server no longer listens: {}", std::strerror(errno));
}

/// The library passes over a stop before it listens.
void HttpServer::stop() {
  constexpr std::chrono::milliseconds kShort{5};
  stopped_ = true;
  while (!routes_->server.is_running() && !ended_) std::this_thread::sleep_for(kShort);
  routes_->server.stop();
}

}  // namespace smelt::server
