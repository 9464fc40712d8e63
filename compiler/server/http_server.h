// The HTTP server of `smelt serve` on Boost.Asio: it takes connections, bounds their number and ends them.
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
  /// `connections`: the largest number of connections. `allowed_hosts`: hosts that clients may name in
  /// addition to those of the address (AllowedHosts). Throws Error where one is no host.
  HttpServer(BatchThread& batch, CompletionService& completions, size_t connections,
             const std::vector<std::string>& allowed_hosts = {});
  ~HttpServer();

  /// Returns the port, which the system chooses where it is 0. Throws Error where it cannot be had.
  int bind(const std::string& host, int port);
  /// Answers until stop() is called, from any thread, and then ends open answers within seconds. Throws Error
  /// where it ends before.
  void listen();
  /// Stops the server, also where it has ended, or listens later.
  void stop();

 private:
  class Listener;
  std::unique_ptr<Listener> listener_;
  std::atomic<bool> stopped_ = false;
};

}  // namespace smelt::server
