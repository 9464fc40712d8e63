// Owning types for objects of the driver: device memory, pinned host memory, streams, events, modules,
// graphs.
#pragma once

#include <memory>
#include <utility>

#include "runtime/base/allocator.h"
#include "runtime/cuda/device.h"

namespace smelt::cuda {

/// Move-only owner of one handle. The destructor passes the handle to `destroy`. Empty if the handle is 0 or
/// null.
template <typename Handle, auto destroy>
class Owner {
 public:
  Owner() = default;
  explicit Owner(Handle handle) : handle_(handle) {}
  Owner(Owner&& other) noexcept : handle_(std::exchange(other.handle_, Handle{})) {}
  Owner& operator=(Owner&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owner() {
    if (handle_) destroy(handle_);
  }
  Handle get() const { return handle_; }
  explicit operator bool() const { return handle_ != Handle{}; }

 private:
  Handle handle_{};
};

inline void free_device(DevicePointer p) { driver().MemFree(p); }
inline void free_pinned(std::byte* p) { driver().MemFreeHost(p); }
inline void end_stream(Stream s) { driver().StreamDestroy(s); }
inline void end_event(Event e) { driver().EventDestroy(e); }
inline void end_module(Module m) { driver().ModuleUnload(m); }
inline void end_graph(GraphExec g) { driver().GraphExecDestroy(g); }

/// Move-only owner of memory from the driver or from an application's allocator. The destructor returns the
/// memory to the driver or to that allocator.
template <typename Handle, auto destroy, MemoryKind kind>
class Memory {
 public:
  Memory() = default;
  explicit Memory(Handle handle) : driver_(handle) {}
  Memory(void* memory, size_t bytes, std::shared_ptr<const Allocator> allocator)
      : memory_(memory), bytes_(bytes), allocator_(std::move(allocator)) {}
  Memory(Memory&& other) noexcept { *this = std::move(other); }
  Memory& operator=(Memory&& other) noexcept {
    std::swap(driver_, other.driver_), std::swap(memory_, other.memory_);
    std::swap(bytes_, other.bytes_), allocator_.swap(other.allocator_);
    return *this;
  }
  ~Memory() {
    if (memory_) allocator_->release(kind, memory_, bytes_);
  }
  Handle get() const {
    if (!memory_) return driver_.get();
    if constexpr (kind == MemoryKind::device)
      return reinterpret_cast<Handle>(memory_);
    else
      return static_cast<Handle>(memory_);
  }
  explicit operator bool() const { return get() != Handle{}; }
  /// Returns whether the memory is from the driver, or there is none.
  bool of_driver() const { return !memory_; }

 private:
  Owner<Handle, destroy> driver_;
  void* memory_ = nullptr;  // from the allocator; null if the memory is from the driver
  size_t bytes_ = 0;
  std::shared_ptr<const Allocator> allocator_;
};

using DeviceBlock = Memory<DevicePointer, free_device, MemoryKind::device>;
using PinnedBlock = Memory<std::byte*, free_pinned, MemoryKind::pinned>;
using StreamOwner = Owner<Stream, end_stream>;
using EventOwner = Owner<Event, end_event>;
using ModuleOwner = Owner<Module, end_module>;
using GraphOwner = Owner<GraphExec, end_graph>;

/// Allocates device memory by `allocator`, or by the driver if that is null. The address is a multiple of
/// 256. At least one byte is allocated, so that the block always has an address. Throws Error
/// (out_of_memory); if the driver allocates, the message has the needed and the free bytes.
DeviceBlock device_block(const Device& device, int64_t bytes,
                         const std::shared_ptr<const Allocator>& allocator = nullptr);
/// Allocates device memory by the driver. Returns an empty block if there is not enough memory.
DeviceBlock try_device_block(const Device& device, int64_t bytes);
/// Allocates pinned host memory as device_block does. Throws Error (out_of_memory).
PinnedBlock pinned_block(const Device& device, int64_t bytes,
                         const std::shared_ptr<const Allocator>& allocator = nullptr);
/// Priority of a stream. Thread blocks of kernels in a high-priority stream are scheduled before waiting
/// thread blocks of other streams.
enum class StreamPriority : uint8_t { usual, high };
/// Creates a stream that is not ordered with any other stream.
StreamOwner make_stream(const Device& device, StreamPriority priority = StreamPriority::usual);
/// Creates an event. `timing` is required for seconds_between.
EventOwner make_event(const Device& device, bool timing = false);
/// Returns the seconds between two events that have happened.
double seconds_between(Event begin, Event end);

}  // namespace smelt::cuda
