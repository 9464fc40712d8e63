#include "runtime/base/in_parallel.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "runtime/base/interrupt.h"

namespace smelt {
namespace {

class Jobs {
 public:
  Jobs(size_t count, const std::function<void(size_t)>& job) : count_(count), job_(job), failures_(count) {}

  void run() {
    start_threads();
    if (threads_.empty()) work(true);
    wait();
    for (std::thread& thread : threads_) thread.join();
    if (interruption_) std::rethrow_exception(interruption_);
    for (const std::exception_ptr& failure : failures_)
      if (failure) std::rethrow_exception(failure);
  }

 private:
  /// Starts as many threads as the system allows; they share the jobs.
  void start_threads() {
    const size_t wanted = std::min<size_t>(count_, std::max(1u, std::thread::hardware_concurrency()));
    if (wanted < 2) return;
    threads_.reserve(wanted);
    try {
      for (size_t i = 0; i < wanted; ++i) {
        working_ += 1;
        threads_.emplace_back([this] { work(false), end(); });
      }
    } catch (const std::system_error&) {
      working_ -= 1;
    }
  }

  void work(bool polls) {
    while (!stops_) {
      const size_t i = next_++;
      if (i >= count_) return;
      if (polls) poll();
      if (stops_) return;
      try {
        job_(i);
      } catch (...) {
        failures_[i] = std::current_exception();
        stops_ = true;
      }
    }
  }

  void end() {
    const std::lock_guard lock(mutex_);
    working_ -= 1;
    ended_.notify_all();
  }

  void wait() {
    std::unique_lock lock(mutex_);
    while (!ended_.wait_for(lock, std::chrono::milliseconds(50), [&] { return working_ == 0; })) {
      lock.unlock();
      poll();
      lock.lock();
    }
  }

  void poll() {
    if (interruption_) return;
    try {
      poll_interrupt();
    } catch (...) {
      interruption_ = std::current_exception();
      stops_ = true;
    }
  }

  size_t count_;
  const std::function<void(size_t)>& job_;
  std::vector<std::exception_ptr> failures_;
  std::exception_ptr interruption_;
  std::atomic<size_t> next_ = 0;
  std::atomic<size_t> working_ = 0;
  std::atomic<bool> stops_ = false;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::vector<std::thread> threads_;
};

}  // namespace

void in_parallel(size_t count, const std::function<void(size_t)>& job) { Jobs(count, job).run(); }

}  // namespace smelt
