// CountingAllocator: an allocator for tests that counts the bytes that are allocated, by kind of memory.
#pragma once

#include <array>
#include <atomic>
#include <cstdlib>
#include <memory>

#include "runtime/base/allocator.h"

namespace smelt {

class CountingAllocator {
 public:
  /// Returns the functions of the allocator, which return host memory for all kinds of memory. Requires: this
  /// object outlives the result.
  std::shared_ptr<const Allocator> functions() {
    return std::make_shared<const Allocator>(Allocator{
        [this](MemoryKind kind, size_t bytes, size_t alignment) { return give(kind, bytes, alignment); },
        [this](MemoryKind kind, void* memory, size_t bytes) { take_back(kind, memory, bytes); }});
  }
  /// Returns the number of bytes that are allocated and not released.
  int64_t bytes(MemoryKind kind) const { return bytes_[static_cast<size_t>(kind)]; }
  int64_t bytes() const {
    return bytes(MemoryKind::host) + bytes(MemoryKind::device) + bytes(MemoryKind::pinned);
  }

  std::atomic<int64_t> limit = INT64_MAX;  // allocations that would exceed this number of bytes fail
  std::atomic<size_t> shift = 0;           // bytes that are added to each aligned address

 private:
  void* give(MemoryKind kind, size_t bytes, size_t alignment) {
    if (static_cast<int64_t>(bytes) > limit - this->bytes()) return nullptr;
    bytes_[static_cast<size_t>(kind)] += static_cast<int64_t>(bytes);
    const size_t whole = (bytes + shift + alignment - 1) / alignment * alignment;
    return static_cast<std::byte*>(std::aligned_alloc(alignment, whole)) + shift;
  }
  void take_back(MemoryKind kind, void* memory, size_t bytes) {
    bytes_[static_cast<size_t>(kind)] -= static_cast<int64_t>(bytes);
    std::free(static_cast<std::byte*>(memory) - shift);
  }

  std::array<std::atomic<int64_t>, 3> bytes_ = {};
};

}  // namespace smelt
