// The routes of `smelt serve` on Debian's cpp-httplib.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "compiler/server/batch_thread.h"
#include "compiler/server/completion_service.h"

namespace smelt::server {

class HttpServer {
 public:
  /// `threads`: connections that are answered at the same time.
  HttpServer(BatchThread& batch, CompletionService& completions, size_t threads);
  ~HttpServer();

  /// Returns the port, which the system chooses where it is 0. Throws Error where it cannot be had.
  int bind(const std::string& host, int port);
  /// Answers until stop() is called, from any thread. Throws Error where it ends before.
  void listen();
  /// Also where it has ended, or listens a little later.
  void stop();

 private:
  class Routes;
  std::unique_ptr<Routes> routes_;
  std::atomic<bool> stopped_ = false, ended_ = false;
};

}  // namespace smelt::server
