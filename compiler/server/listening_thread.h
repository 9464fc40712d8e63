// A thread that runs HttpServer::listen.
#pragma once

#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "compiler/server/http_server.h"

namespace smelt::server {

class ListeningThread {
 public:
  /// Starts to listen. `http` must be bound, and must outlive the object.
  explicit ListeningThread(HttpServer& http);
  /// Stops the server, and waits for the thread.
  ~ListeningThread();
  ListeningThread(const ListeningThread&) = delete;
  ListeningThread& operator=(const ListeningThread&) = delete;

  /// Sets a function that the thread calls once if an error ends the listening. If an error has ended the
  /// listening already, on_fault calls the function. The function must not throw. An empty function removes
  /// the previous one.
  void on_fault(std::function<void()> listener);
  /// Stops the server, waits for the thread, and throws the error that has ended the listening, if there was
  /// one.
  void finish();

 private:
  void run();
  void stop();

  HttpServer& http_;
  std::mutex mutex_;
  std::exception_ptr fault_;
  std::function<void()> listener_;
  std::thread thread_;
};

}  // namespace smelt::server
