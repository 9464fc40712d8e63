// Repeated runs of an entry that are started before the host has read the results of earlier runs.
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

/// Integer in a state that means that no run has written the element yet.
inline constexpr int32_t kNotYet = std::numeric_limits<int32_t>::min();

/// Waits until is_there() returns true, that is, until a started run of the entry has written a result. If
/// this takes longer than a second, waits for the end of all runs, and throws their Error, or an Error if
/// there is no result.
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

/// Starts and counts the runs of an entry. A run is "under way" from its start until its result is taken. The
/// struct RunsAhead (loop_inputs.h) has the limits for starts: at most RunsAhead::most runs may be under way
/// at a time. If any run is under way, more runs are started only if RunsAhead::together runs may be added.
class RunAhead {
 public:
  /// `inputs` are the inputs of all runs. `most` is the most runs that are started in all; it is unrelated to
  /// RunsAhead::most.
  RunAhead(Session& session, std::string entry, std::vector<InputTensor> inputs, int64_t most)
      : session_(session),
        entry_(std::move(entry)),
        inputs_(std::move(inputs)),
        most_(most),
        ahead_(runs_ahead(session.plan().target)) {}

  /// Waits for the started runs and ignores their errors, so that a later run does not report them.
  ~RunAhead() {
    try {
      if (started_ > 0) session_.synchronize();
    } catch (const Error&) {  // of runs whose results are not needed
    }
  }
  RunAhead(const RunAhead&) = delete;
  RunAhead& operator=(const RunAhead&) = delete;

  /// Starts as many runs as the limits allow. Returns the number of runs under way minus 1, because the
  /// caller takes exactly one result before it calls start() again (step_loop.h).
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
  /// Marks the first run under way as taken, and returns its number, from 0.
  int64_t take() { return taken_++; }

  /// Waits for a result of a run of this entry, as wait_for_result does.
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
