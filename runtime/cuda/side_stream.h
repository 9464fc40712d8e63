// A side stream runs work concurrently with the stream of the steps ("main"). The work begins after the
// earlier work of main, and runs concurrently with the later work of main until a step waits for it.
#pragma once

#include <functional>
#include <vector>

#include "runtime/cuda/memory.h"

namespace smelt::cuda {

class SideStream {
 public:
  SideStream(const Device& device, StreamPriority priority);

  /// Calls the function `work` with the side stream as its argument. The function enqueues work on this
  /// stream. Step number `waited_at` of the entry is the first that waits for this work.
  void launch(Stream main, size_t waited_at, const std::function<void(Stream)>& work);
  /// Makes later work of `main` wait for the work whose `waited_at` is at most `step`.
  void join(size_t step, Stream main);
  /// Makes later work of `main` wait for all work.
  void join_all(Stream main);
  /// Returns whether all work that was launched has been joined.
  bool is_idle() const { return pending_.empty(); }
  /// Drops the pending waits, after a run that ended early by an exception.
  void forget() { pending_.clear(); }
  /// Blocks the calling thread until all work is done.
  void finish() const noexcept { driver().StreamSynchronize(stream_.get()); }

 private:
  const Device& device_;
  StreamOwner stream_;
  EventOwner begin_;
  std::vector<size_t> pending_;     // `waited_at` of the work that has not been joined, in order
  std::vector<EventOwner> events_;  // the end of each pending work, then unused events
};

}  // namespace smelt::cuda
