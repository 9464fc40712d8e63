// HttpServer: the HTTP server of `smelt serve`, with Boost.Asio. It accepts connections, limits their number
// and closes them.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "compiler/server/api_keys.h"
#include "compiler/server/batch_service.h"
#include "compiler/server/http_routes.h"
#include "compiler/server/model_service.h"
#include "compiler/server/request_log.h"

namespace smelt::server {

struct HttpOptions {
  size_t connections = 64;  // the largest number of open connections
  /// Hosts that the Host field of a request may have in addition to those of the bound address
  /// (AllowedHosts).
  std::vector<std::string> allowed_hosts = {};
  std::vector<std::string> allowed_origins = {};  // origins whose pages may use the server (AllowedOrigins)
  ApiKeys keys = {};
  size_t most_per_key = 0;  // completions that a key may have at a time; 0: any number
  /// If it is not empty, the server answers with these pages, and serve() is not called.
  Pages pages = {};
  /// Called by the thread of listen() after each request; empty: requests are not logged.
  std::function<void(const RequestRecord&)> log = {};
};

class HttpServer {
 public:
  /// Creates a server that is starting (ServerState): it answers GET /health, and refuses what needs the
  /// model. Throws Error if an allowed host is not a host or an allowed origin not an origin, or if memory
  /// for the worker threads is lacking.
  explicit HttpServer(HttpOptions options);
  ~HttpServer();

  /// Answers requests with this model from now on. Adds `connections` to the largest number of open
  /// connections. `batch` and `model` must outlive the call of listen(). Called once, by any thread.
  void serve(BatchService& batch, ModelService& model, size_t connections = 0);
  /// Refuses new completions, while those that run go on. May be called by any thread after serve().
  void drain();

  /// Binds to the address and returns the bound port; if `port` is 0, the system chooses a free one. Throws
  /// Error if it cannot listen there.
  int bind(const std::string& host, int port);
  /// Serves connections until stop() is called. Answers that are incomplete at that time have kMostEndTime
  /// (http_limits.h) to end. Throws Error if the server ends for any other reason, or if bind() has not
  /// succeeded.
  void listen();
  /// Makes listen() return. It may be called from any thread, at any time. If it is called before listen(),
  /// the later call of listen() returns at once. After listen() has returned, stop() has no effect.
  void stop();

 private:
  class Listener;
  std::unique_ptr<Listener> listener_;
  std::atomic<bool> stopped_ = false;
};

}  // namespace smelt::server
