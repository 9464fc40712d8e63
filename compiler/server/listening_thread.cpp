#include "compiler/server/listening_thread.h"

#include <utility>

namespace smelt::server {

ListeningThread::ListeningThread(HttpServer& http) : http_(http), thread_([this] { run(); }) {}

ListeningThread::~ListeningThread() { stop(); }

void ListeningThread::run() {
  try {
    http_.listen();
  } catch (...) {
    const std::lock_guard lock(mutex_);
    fault_ = std::current_exception();
    if (listener_) listener_();
  }
}

void ListeningThread::on_fault(std::function<void()> listener) {
  const std::lock_guard lock(mutex_);
  listener_ = std::move(listener);
  if (listener_ && fault_) listener_();
}

void ListeningThread::stop() {
  if (!thread_.joinable()) return;
  http_.stop();
  thread_.join();
}

void ListeningThread::finish() {
  stop();
  if (fault_) std::rethrow_exception(std::exchange(fault_, nullptr));
}

}  // namespace smelt::server
