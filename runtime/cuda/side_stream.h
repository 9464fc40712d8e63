// A stream beside the one that steps run on: what it is given begins when the other has done all that it was
// given before, and runs beside what comes behind, until a step waits for it.
#pragma once

#include <functional>
#include <vector>

#include "runtime/cuda/memory.h"

namespace smelt::cuda {

class SideStream {
 public:
  SideStream(const Device& device, StreamPriority priority);

  /// Step number `waited_at` of the entry waits for the work, and those behind it.
  void launch(Stream main, size_t waited_at, const std::function<void(Stream)>& work);
  /// `main` waits for what this step, or one before it, needs.
  void join(size_t step, Stream main);
  void join_all(Stream main);
  /// A run that was given up half-way waits for nothing.
  void forget() { pending_.clear(); }
  /// The host waits for all that it was given.
  void finish() const noexcept { driver().StreamSynchronize(stream_.get()); }

 private:
  const Device& device_;
  StreamOwner stream_;
  EventOwner begin_;
  std::vector<size_t> pending_;     // `waited_at` of what nobody waits for yet, in order
  std::vector<EventOwner> events_;  // the ends of those, then others
};

}  // namespace smelt::cuda
