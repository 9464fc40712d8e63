// Allocation of a session's memory by functions of the application in place of the system's and the driver's,
// so that it can count, limit and pool this memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace smelt {

/// pinned: memory of the host that a GPU reads and writes at the same address, as cuMemHostAlloc gives it.
enum class MemoryKind : uint8_t { host, device, pinned };

/// Functions that allocate and release memory. They are called by the threads that make, run and end
/// sessions, concurrently if several sessions have the same allocator, and must not throw. For device and
/// pinned memory, the GPU is current.
struct Allocator {
  /// Returns `bytes` (at least 1) bytes of any contents at a multiple of `alignment`, a power of two; null if
  /// there is not enough memory.
  std::function<void*(MemoryKind kind, size_t bytes, size_t alignment)> allocate;
  /// Releases memory that is no longer used. `bytes` is the requested size.
  std::function<void(MemoryKind kind, void* memory, size_t bytes)> release;
};

/// Returns the memory that `allocate` gives. Throws Error (out_of_memory) for null, and Error for a wrong
/// alignment.
void* allocate_from(const Allocator& allocator, MemoryKind kind, size_t bytes, size_t alignment);

}  // namespace smelt
