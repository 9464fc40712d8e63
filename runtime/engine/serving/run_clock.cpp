#include "runtime/engine/serving/run_clock.h"

#include <algorithm>

namespace smelt {
namespace {

/// Time that the host needs to start runs, generously.
constexpr std::chrono::microseconds kLead{300};

}  // namespace

void RunClock::take(Time now) {
  if (has_last_) times_[count_++ % kKept] = now - last_;
  last_ = now, has_last_ = true;
}

/// The shortest of the last times leaves out encoders, which run between some of the runs.
RunClock::Time RunClock::start_due(size_t runs) const {
  if (count_ < kKept || !has_last_) return Time::min();
  const Duration run = *std::ranges::min_element(times_);
  return last_ + static_cast<Duration::rep>(runs) * run - std::max<Duration>(kLead, run / 4);
}

}  // namespace smelt
