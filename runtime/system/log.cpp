#include "runtime/system/log.h"

#include <atomic>
#include <mutex>
#include <shared_mutex>

#include "runtime/base/error.h"

namespace smelt {
namespace {

struct Log {
  std::atomic<bool> is_on = false;
  std::shared_mutex mutex;  // of the listener, which is called under it
  LogListener listener;
};

/// Never destroyed: threads may work until the process ends.
Log& the_log() {
  static Log& log = *new Log;
  return log;
}

thread_local bool is_telling = false;

}  // namespace

void set_log(LogListener listener) {
  if (is_telling) fail("a log's listener sets another: expected that to be done where nothing is told");
  Log& log = the_log();
  const std::unique_lock lock(log.mutex);
  log.is_on = listener != nullptr;
  log.listener.swap(listener);
}

bool is_logged() noexcept { return the_log().is_on.load(std::memory_order_relaxed) && !is_telling; }

void log_detail::tell(LogLevel level, std::string_view message) noexcept {
  Log& log = the_log();
  try {
    const std::shared_lock lock(log.mutex);
    is_telling = true;
    if (log.listener) log.listener(level, message);
  } catch (...) {  // the library's work does not depend on who listens
  }
  is_telling = false;
}

}  // namespace smelt
