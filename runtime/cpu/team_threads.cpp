#include "runtime/cpu/threads.h"

#include <omp.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <system_error>
#include <thread>
#include <vector>

#include "runtime/system/log.h"

namespace smelt {
namespace {

/// The threads of this process have a directory each; 0: not known.
size_t running_threads() {
  struct stat tasks{};
  return ::stat("/proc/self/task", &tasks) == 0 ? tasks.st_nlink : 0;
}

/// A thread that has been joined counts for a moment longer.
void wait_until_ended(size_t running) {
  constexpr int kMostWaits = 100;
  for (int i = 0; i < kMostWaits && running_threads() > running; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

/// Returns how many threads can be started in addition to the running ones, up to `wanted`.
int start_threads(int wanted) {
  const size_t running = running_threads();
  std::promise<void> end;
  const std::shared_future<void> ended = end.get_future().share();
  std::vector<std::thread> threads;
  threads.reserve(static_cast<size_t>(wanted));
  try {
    while (threads.size() < threads.capacity()) threads.emplace_back([ended] { ended.wait(); });
  } catch (const std::system_error&) {
  }
  end.set_value();
  for (std::thread& thread : threads) thread.join();
  wait_until_ended(running);
  return static_cast<int>(threads.size());
}

}  // namespace

int team_threads(int wanted) {
  thread_local int proven = 1, most = 0;
  wanted = std::min(wanted, kMostThreads);
  if (wanted <= proven) return wanted;
  if (most > 0) return std::min(wanted, most);
  const int started = start_threads(wanted);  // one more than the team needs
  if (started < wanted) {
    most = std::max(1, started);
    log(LogLevel::warning,
        "{} threads instead of {}: the system refuses to start more; raise the limit of processes (ulimit "
        "-u) "
        "or of memory (ulimit -v)",
        most, wanted);
  }
  proven = std::max(proven, std::min(wanted, std::max(1, started)));
  return proven;
}

int team_threads() { return team_threads(omp_get_max_threads()); }

}  // namespace smelt
