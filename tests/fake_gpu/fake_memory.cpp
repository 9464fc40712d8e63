// The driver's functions for memory: blocks of the host, each of which belongs to a device.
#include "tests/fake_gpu/fake_memory.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <set>
#include <utility>

#include "tests/fake_gpu/fake_gpu.h"

namespace {

using namespace smelt::cuda;
using smelt::fake::current_device;
using smelt::fake::enqueue;
using smelt::fake::is_here;
using smelt::fake::word;
using Code = Driver::Code;

constexpr Code kInvalidValue = 1, kInvalidContext = 201;
constexpr size_t kAlignment = 256;

smelt::fake::Gpu& gpu() { return smelt::fake::gpu(current_device()); }

struct Memory {
  size_t bytes = 0;
  int device = 0;
};
/// Of the tables below: ranks that are threads use a GPU each, and these together.
std::recursive_mutex& tables() {
  static std::recursive_mutex all;
  return all;
}
std::map<DevicePointer, Memory>& blocks() {
  static std::map<DevicePointer, Memory> all;
  return all;
}

/// Blocks of other devices that a device has opened.
std::multiset<std::pair<int, DevicePointer>>& opened() {
  static std::multiset<std::pair<int, DevicePointer>> all;
  return all;
}

void* host(DevicePointer address) { return reinterpret_cast<void*>(address); }

template <typename T>
Code fill(DevicePointer to, T value, size_t count, Stream stream) {
  if (!is_here(to)) return kInvalidValue;
  return enqueue(stream, [=] { std::fill_n(static_cast<T*>(host(to)), count, value); });
}

}  // namespace

bool smelt::fake::is_here(DevicePointer address, bool or_opened) {
  const std::lock_guard lock(tables());
  const auto next = blocks().upper_bound(address);
  if (next == blocks().begin()) return false;
  const auto& [block, memory] = *std::prev(next);
  return memory.device == current_device() || (or_opened && opened().contains({current_device(), block}));
}

std::atomic_ref<uint32_t> smelt::fake::word(DevicePointer address) {
  return std::atomic_ref(*static_cast<uint32_t*>(host(address)));
}

extern "C" {

/// Of the kind of memory, and of its device's number: all else is not asked for.
Code cuPointerGetAttribute(void* value, int attribute, DevicePointer address) {
  constexpr int kMemoryType = 2, kDeviceOrdinal = 9, kOnDevice = 2;
  const std::lock_guard lock(tables());
  const auto next = blocks().upper_bound(address);
  if (next == blocks().begin()) return kInvalidValue;
  const auto& [block, memory] = *std::prev(next);
  if (address >= block + memory.bytes) return kInvalidValue;
  if (attribute != kMemoryType && attribute != kDeviceOrdinal) return kInvalidValue;
  return *static_cast<int*>(value) = attribute == kMemoryType ? kOnDevice : memory.device, 0;
}

Code cuMemAlloc_v2(DevicePointer* address, size_t bytes) {
  if (gpu().fault != 0) return gpu().fault;
  if (bytes == 0) return kInvalidValue;
  if (bytes > gpu().total_bytes - gpu().used_bytes || bytes == gpu().refuses_blocks_of) return kOutOfMemory;
  void* memory = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
  std::memset(memory, 0xA5, bytes);  // nobody may count on zeros
  *address = reinterpret_cast<DevicePointer>(memory);
  const std::lock_guard lock(tables());
  blocks()[*address] = {bytes, current_device()};
  gpu().used_bytes += bytes, ++gpu().blocks_in_use, ++gpu().allocations;
  return 0;
}
Code cuMemFree_v2(DevicePointer address) {
  const std::lock_guard lock(tables());
  const auto found = blocks().find(address);
  if (found == blocks().end()) return kInvalidValue;
  smelt::fake::Gpu& owner = smelt::fake::gpu(found->second.device);
  owner.used_bytes -= found->second.bytes, --owner.blocks_in_use;
  blocks().erase(found);
  std::free(host(address));
  return owner.fault;
}
Code cuMemHostAlloc(void** address, size_t bytes, unsigned) {
  return *address = std::malloc(bytes), gpu().fault;
}
Code cuMemFreeHost(void* address) { return std::free(address), gpu().fault; }
Code cuMemcpyHtoDAsync_v2(DevicePointer to, const void* from, size_t bytes, Stream stream) {
  ++gpu().uploads;
  if (!is_here(to)) return kInvalidValue;
  return enqueue(stream, [=] { std::memcpy(host(to), from, bytes); });
}
Code cuMemcpyDtoHAsync_v2(void* to, DevicePointer from, size_t bytes, Stream stream) {
  ++gpu().downloads;
  if (!is_here(from)) return kInvalidValue;
  return enqueue(stream, [=] { std::memcpy(to, host(from), bytes); });
}
Code cuMemcpy2DAsync_v2(const Copy2D* copy, Stream stream) {
  const bool to_host = copy->to.memory == Copy2D::kHost;
  if (!is_here(copy->from.device) || !(to_host || is_here(copy->to.device, true))) return kInvalidValue;
  gpu().downloads += to_host ? 1 : 0;
  return enqueue(stream, [copy = *copy, to = to_host ? copy->to.host : host(copy->to.device)] {
    for (size_t row = 0; row < copy.rows; ++row)
      std::memcpy(static_cast<char*>(to) + row * copy.to.pitch,
                  static_cast<const char*>(host(copy.from.device)) + row * copy.from.pitch, copy.width);
  });
}
Code cuMemcpyDtoDAsync_v2(DevicePointer to, DevicePointer from, size_t bytes, Stream stream) {
  if (!is_here(to, true) || !is_here(from, true)) return kInvalidValue;
  ++gpu().moves;
  return enqueue(stream, [=] {
    if (bytes == sizeof(uint32_t))  // a word may be waited for
      word(to).store(word(from).load());
    else
      std::memmove(host(to), host(from), bytes);
  });
}
Code cuMemsetD8Async(DevicePointer to, unsigned char value, size_t count, Stream stream) {
  return fill(to, value, count, stream);
}
Code cuMemsetD2D8Async(DevicePointer to, size_t pitch, unsigned char value, size_t width, size_t height,
                       Stream stream) {
  if (!is_here(to)) return kInvalidValue;
  return enqueue(stream, [=] {
    for (size_t line = 0; line < height; ++line)
      std::memset(static_cast<char*>(host(to)) + line * pitch, value, width);
  });
}
Code cuMemsetD16Async(DevicePointer to, unsigned short value, size_t count, Stream stream) {
  return fill(to, value, count, stream);
}
Code cuMemsetD32Async(DevicePointer to, unsigned value, size_t count, Stream stream) {
  if (count == 1 && is_here(to)) return enqueue(stream, [=] { word(to).store(value); });
  return fill(to, value, count, stream);
}

/// Threads stand for processes here.
Code cuIpcGetMemHandle(IpcHandle* handle, DevicePointer block) {
  if (!is_here(block)) return kInvalidValue;
  return std::memcpy(handle->bytes, &block, sizeof block), 0;
}
Code cuIpcOpenMemHandle_v2(DevicePointer* block, IpcHandle handle, unsigned) {
  if (!smelt::fake::gpu(0).has_peers) return kInvalidContext;
  std::memcpy(block, handle.bytes, sizeof *block);
  const std::lock_guard lock(tables());
  return opened().insert({current_device(), *block}), 0;
}
Code cuIpcCloseMemHandle(DevicePointer block) {
  const std::lock_guard lock(tables());
  const auto found = opened().find({current_device(), block});
  return found == opened().end() ? kInvalidValue : (opened().erase(found), 0);
}
}
