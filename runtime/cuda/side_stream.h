// A second stream that runs concurrently with the stream of the steps. Its work begins after the earlier work
// of that stream, and runs concurrently with the later work until a step waits for it.
#pragma once

#include <functional>
#include <vector>

#include "runtime/cuda/memory.h"

namespace smelt::cuda {

class SideStream {
 public:
  SideStream(const Device& device, StreamPriority priority);

  /// Launches work for which step number `waited_at` of the entry and the steps after it wait.
  void launch(Stream main, size_t waited_at, const std::function<void(Stream)>& work);
  /// Makes `main` wait for the work that this step, or one before it, needs.
  void join(size_t step, Stream main);
  void join_all(Stream main);
  /// Nothing that it was given is still to be waited for.
  bool is_idle() const { return pending_.empty(); }
  /// A run that was given up half-way waits for nothing.
  void forget() { pending_.clear(); }
  /// The host waits for all that it was given.
  void finish() const noexcept { driver().StreamSynchronize(stream_.get()); }

 private:
  const Device& device_;
  StreamOwner stream_;
  EventOwner begin_;
  std::vector<size_t> pending_;     // `waited_at` of work that no step has waited for yet, in order
  std::vector<EventOwner> events_;  // the ends of those, then others
};

}  // namespace smelt::cuda
