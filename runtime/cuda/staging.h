// Copies of bytes to the device through pinned memory, part by part: while one part is copied, a callback
// writes the next part. Memory that is not pinned would be copied at a fraction of the speed.
#pragma once

#include <array>

#include "runtime/cuda/memory.h"
#include "runtime/session/executor.h"

namespace smelt::cuda {

class Staging {
 public:
  Staging() = default;
  Staging(const Device& device, std::shared_ptr<const Allocator> allocator)
      : device_(&device), allocator_(std::move(allocator)) {}

  /// Copies `bytes` bytes to `to`. `make` is called on the calling thread and fills the parts in order. The
  /// copies are enqueued on `stream`, and may be in progress when the function returns.
  void send(DevicePointer to, int64_t bytes, const Executor::MakePart& make, Stream stream);

 private:
  /// A buffer for one part. `sent` is the end of its last copy.
  struct Slot {
    PinnedBlock memory;
    EventOwner sent;
  };
  const Device* device_ = nullptr;
  std::shared_ptr<const Allocator> allocator_;
  std::array<Slot, 2> slots_;
  size_t next_ = 0;
};

}  // namespace smelt::cuda
