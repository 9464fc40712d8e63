#include "runtime/cuda/staging.h"

#include <algorithm>

namespace smelt::cuda {
namespace {

constexpr int64_t kPart = int64_t{32} << 20;

}  // namespace

void Staging::send(DevicePointer to, int64_t bytes, const Executor::MakePart& make, Stream stream) {
  for (int64_t begin = 0; begin < bytes; begin += kPart) {
    Slot& slot = slots_[next_++ % slots_.size()];
    if (!slot.memory)
      slot.memory = pinned_block(*device_, kPart, allocator_), slot.sent = make_event(*device_);
    check(driver().EventSynchronize(slot.sent.get()), "writing a state");
    const auto part = static_cast<size_t>(std::min(kPart, bytes - begin));
    make(begin, {slot.memory.get(), part});
    check(driver().MemcpyHtoDAsync(to + static_cast<DevicePointer>(begin), slot.memory.get(), part, stream),
          "writing a state");
    check(driver().EventRecord(slot.sent.get(), stream), "writing a state");
  }
}

}  // namespace smelt::cuda
