// RunClock: estimates how long the host may wait before it starts more runs on a device that is at work, so
// that the runs include requests that come meanwhile. The estimate is made from the times at which results of
// earlier runs came.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>

namespace smelt {

class RunClock {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::steady_clock::duration;

  /// Notes that the result of a run has come.
  void take(Time now);
  /// Notes that the device has no run in progress, so that the time until the next result is no run's time.
  void rest() { has_last_ = false; }
  /// Returns the latest time at which more runs should be started if `runs` runs are in progress. The time
  /// may be in the past; it is Time::min() if too few results have come for an estimate.
  Time start_due(size_t runs) const;

 private:
  static constexpr size_t kKept = 8;
  std::array<Duration, kKept> times_{};  // between the last results
  size_t count_ = 0;                     // of all times that were measured
  Time last_{};                          // of the last result
  bool has_last_ = false;                // the device has been at work since the last result
};

}  // namespace smelt
