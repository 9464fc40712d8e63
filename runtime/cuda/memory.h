// Owners of the driver's objects: device memory, pinned host memory, streams, events, modules, graphs.
#pragma once

#include <utility>

#include "runtime/cuda/device.h"

namespace smelt::cuda {

/// Owns one handle and ends it; moves, never copies.
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

using DeviceBlock = Owner<DevicePointer, free_device>;
using PinnedBlock = Owner<std::byte*, free_pinned>;
using StreamOwner = Owner<Stream, end_stream>;
using EventOwner = Owner<Event, end_event>;
using ModuleOwner = Owner<Module, end_module>;
using GraphOwner = Owner<GraphExec, end_graph>;

/// At a multiple of 256 bytes; at least one byte, so that there is an address. Throws Error (out_of_memory)
/// with the bytes that are needed and free.
DeviceBlock device_block(const Device& device, int64_t bytes);
/// Empty where there is not enough memory.
DeviceBlock try_device_block(const Device& device, int64_t bytes);
PinnedBlock pinned_block(const Device& device, int64_t bytes);
/// The blocks of kernels of a high priority come before those of others that wait for a place.
enum class StreamPriority : uint8_t { usual, high };
/// Not ordered with any other stream.
StreamOwner make_stream(const Device& device, StreamPriority priority = StreamPriority::usual);
/// With `timing` the time between two events can be measured.
EventOwner make_event(const Device& device, bool timing = false);
double seconds_between(Event begin, Event end);

}  // namespace smelt::cuda
