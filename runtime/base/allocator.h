// Allocation of a session's memory by functions of the application instead of the system and the GPU driver,
// so that the application can count, limit and pool this memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace smelt {

/// Kinds of memory: host memory, memory of a GPU (`device`), and pinned memory, which is host memory that a
/// GPU reads and writes at the same address, such as cuMemHostAlloc returns.
enum class MemoryKind : uint8_t { host, device, pinned };

/// Functions that allocate and release memory. They must not throw. The threads that create, run and destroy
/// sessions call them, concurrently if several sessions have the same allocator. For device and pinned
/// memory, the context of the session's GPU is current in the calling thread.
struct Allocator {
  /// Allocates `bytes` bytes (at least 1) with arbitrary contents, and returns their address. The address
  /// must be a multiple of `alignment`, which is a power of two. Returns null if there is not enough memory.
  std::function<void*(MemoryKind kind, size_t bytes, size_t alignment)> allocate;
  /// Releases memory that `allocate` returned. `bytes` is the size that was requested.
  std::function<void(MemoryKind kind, void* memory, size_t bytes)> release;
};

/// Calls allocator.allocate with these arguments and returns the memory. Throws Error (out_of_memory) if the
/// result is null, and Error (invalid_argument) if the address is not a multiple of `alignment`.
void* allocate_from(const Allocator& allocator, MemoryKind kind, size_t bytes, size_t alignment);

}  // namespace smelt
