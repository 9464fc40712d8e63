// An entry that runs repeatedly while the host reads the results of earlier runs.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/engine/generation/loop_inputs.h"
#include "runtime/engine/generation/rank_progress.h"
#include "runtime/session/session.h"

namespace smelt {

/// Value of an integer that no run has written yet.
inline constexpr int32_t kNotYet = std::numeric_limits<int32_t>::min();

/// Waits until a result of a started run of the entry is available. If the device has stopped, throws its
/// Error.
template <typename IsThere>
void wait_for_result(Session& session, std::string_view entry, const IsThere& is_there) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kPatience = std::chrono::seconds(1);
  const auto begin = Clock::now();
  for (int looks = 1; !is_there(); ++looks) {
    if (looks % 64 == 0) std::this_thread::yield();
    if (Clock::now() - begin < kPatience) continue;
    session.synchronize();
    if (!is_there()) fail("entry '{}' has left no result of a run", entry);
  }
  std::atomic_thread_fence(std::memory_order_acquire);
}

class RunAhead {
 public:
  /// Runs the entry at most `most` times.
  RunAhead(Session& session, std::string entry, std::vector<InputTensor> inputs, int64_t most)
      : session_(session),
        entry_(std::move(entry)),
        inputs_(std::move(inputs)),
        most_(most),
        ahead_(runs_ahead(session.plan().target)) {}

  /// Waits for the started runs, so that an early end by an Error leaves none whose fault another run would
  /// report.
  ~RunAhead() {
    try {
      if (started_ > 0) session_.synchronize();
    } catch (const Error&) {  // of runs whose results are not needed
    }
  }
  RunAhead(const RunAhead&) = delete;
  RunAhead& operator=(const RunAhead&) = delete;

  /// Starts more runs, if they are due; returns how many may stay under way if one is taken
  /// (step_loop.h).
  int64_t start() {
    const bool is_due = under_way() == 0 || under_way() + ahead_.together <= ahead_.most;
    const int64_t more = std::min(taken_ + ahead_.most, most_) - started_;
    if (is_due && more > 0) {
      tell_progress(session_, entry_);
      session_.repeat(entry_, inputs_, static_cast<int>(more));
      started_ += more;
    }
    return under_way() - 1;
  }

  int64_t started() const { return started_; }
  int64_t under_way() const { return started_ - taken_; }
  /// Returns the number of the first run under way, and counts it as taken.
  int64_t take() { return taken_++; }

  /// Waits until a result of a started run is available.
  template <typename IsThere>
  void wait(const IsThere& is_there) {
    wait_for_result(session_, entry_, is_there);
  }

 private:
  Session& session_;
  std::string entry_;
  std::vector<InputTensor> inputs_;
  int64_t most_, started_ = 0, taken_ = 0;
  RunsAhead ahead_;
};

}  // namespace smelt
