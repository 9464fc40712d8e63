// The HTTP server of `smelt serve` on Boost.Asio. It accepts connections, limits their number and closes
// them.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "compiler/server/batch_thread.h"
#include "compiler/server/completion_service.h"

namespace smelt::server {

class HttpServer {
 public:
  /// `connections`: the largest number of open connections. `allowed_hosts`: hosts that the Host field of a
  /// request may have in addition to those of the bound address (AllowedHosts). Throws Error if one is not a
  /// host, or if memory for the worker threads is lacking.
  HttpServer(BatchThread& batch, CompletionService& completions, size_t connections,
             const std::vector<std::string>& allowed_hosts = {});
  ~HttpServer();

  /// Binds to the address and returns the bound port; if `port` is 0, the system chooses a free one. Throws
  /// Error if it cannot listen there.
  int bind(const std::string& host, int port);
  /// Serves connections until stop() is called. Open answers then have kMostEndTime (http_limits.h) to end.
  /// Throws Error if the server ends for any other reason, or if bind() has not succeeded.
  void listen();
  /// Makes listen() return. It may be called from any thread, at any time: before listen(), the call of
  /// listen() returns at once; after it, nothing happens.
  void stop();

 private:
  class Listener;
  std::unique_ptr<Listener> listener_;
  std::atomic<bool> stopped_ = false;
};

}  // namespace smelt::server
