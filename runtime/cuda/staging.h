// Sends bytes to the device through pinned memory, part by part: while one part is copied, the next is made.
// Memory that is not pinned is copied at a fraction of the speed.
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

  /// `make` fills every part of `bytes` bytes, in order, on the calling thread; `stream` takes them to `to`.
  void send(DevicePointer to, int64_t bytes, const Executor::MakePart& make, Stream stream);

 private:
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
