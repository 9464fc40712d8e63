#include "runtime/base/interrupt.h"

#include <chrono>
#include <utility>

namespace smelt {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kPeriod{50};

thread_local const std::function<void()>* current_check = nullptr;
thread_local Clock::time_point last_run;

}  // namespace

InterruptScope::InterruptScope(std::function<void()> check)
    : check_(std::move(check)), outer_(std::exchange(current_check, &check_)) {}

InterruptScope::~InterruptScope() { current_check = outer_; }

void poll_interrupt() {
  if (!current_check) return;
  const Clock::time_point now = Clock::now();
  if (now - last_run < kPeriod) return;
  last_run = now;
  (*current_check)();
}

}  // namespace smelt
