#include "runtime/cuda/memory.h"

#include <algorithm>

#include "runtime/base/error.h"

namespace smelt::cuda {
namespace {

constexpr size_t kBlockAlignment = 256;

template <typename Block>
Block block_of(const Device& device, MemoryKind kind, int64_t bytes,
               const std::shared_ptr<const Allocator>& allocator) {
  device.make_current();
  const auto wanted = static_cast<size_t>(std::max<int64_t>(1, bytes));
  return Block(allocate_from(*allocator, kind, wanted, kBlockAlignment), wanted, allocator);
}

}  // namespace

DeviceBlock device_block(const Device& device, int64_t bytes,
                         const std::shared_ptr<const Allocator>& allocator) {
  if (allocator) return block_of<DeviceBlock>(device, MemoryKind::device, bytes, allocator);
  DeviceBlock block = try_device_block(device, bytes);
  if (block) return block;
  size_t free = 0, total = 0;
  driver().MemGetInfo(&free, &total);
  fail_with(Status::out_of_memory,
            "the GPU is out of memory: {} bytes are wanted, {} of {} are free; something else has taken what "
            "the plan "
            "counted on, or the plan needs lower bounds (--max, or max= in Python)",
            bytes, free, total);
}

DeviceBlock try_device_block(const Device& device, int64_t bytes) {
  device.make_current();
  DevicePointer address = 0;
  const int code = driver().MemAlloc(&address, static_cast<size_t>(std::max<int64_t>(1, bytes)));
  if (code != kOutOfMemory) check(code, "allocating device memory");
  return DeviceBlock(address);
}

PinnedBlock pinned_block(const Device& device, int64_t bytes,
                         const std::shared_ptr<const Allocator>& allocator) {
  if (allocator) return block_of<PinnedBlock>(device, MemoryKind::pinned, bytes, allocator);
  device.make_current();
  void* address = nullptr;
  check(driver().MemHostAlloc(&address, static_cast<size_t>(std::max<int64_t>(1, bytes)), 0),
        "allocating pinned memory");
  return PinnedBlock(static_cast<std::byte*>(address));
}

StreamOwner make_stream(const Device& device, StreamPriority priority) {
  device.make_current();
  constexpr unsigned kNonBlocking = 1;
  int lowest = 0, highest = 0;
  check(driver().CtxGetStreamPriorityRange(&lowest, &highest), "asking for priorities");
  Stream stream = nullptr;
  check(driver().StreamCreateWithPriority(&stream, kNonBlocking,
                                          priority == StreamPriority::high ? highest : lowest),
        "making a stream");
  return StreamOwner(stream);
}

EventOwner make_event(const Device& device, bool timing) {
  device.make_current();
  constexpr unsigned kNoTiming = 2;
  Event event = nullptr;
  check(driver().EventCreate(&event, timing ? 0 : kNoTiming), "making an event");
  return EventOwner(event);
}

double seconds_between(Event begin, Event end) {
  float milliseconds = 0;
  check(driver().EventElapsedTime(&milliseconds, begin, end), "comparing two events");
  return milliseconds * 1e-3;
}

}  // namespace smelt::cuda
