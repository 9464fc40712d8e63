#include "runtime/ranks/failure_flag.h"

#include <utility>

#include "runtime/base/error.h"

namespace smelt {

bool FailureFlag::raise(const std::string& text) {
  Listener listener;
  {
    const std::lock_guard lock(mutex_);
    if (is_raised()) return false;
    text_ = text;
    listener = std::move(listener_);
    raised_.store(true, std::memory_order_release);
  }
  if (listener) listener(text);
  return true;
}

std::string FailureFlag::text() const {
  const std::lock_guard lock(mutex_);
  return text_;
}

void FailureFlag::check() const {
  if (is_raised()) fail_with(Status::unavailable, "{}", text());
}

void FailureFlag::listen(Listener listener) {
  {
    const std::lock_guard lock(mutex_);
    if (!is_raised()) {
      listener_ = std::move(listener);
      return;
    }
  }
  if (listener) listener(text());
}

}  // namespace smelt
