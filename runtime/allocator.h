// Where the memory of a session comes from: an application's own functions in place of the system's and the
// driver's, so that it can count, limit and pool what sessions take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace smelt {

/// pinned: memory of the host that a GPU reads and writes at the same address, as cuMemHostAlloc gives it.
enum class MemoryKind : uint8_t { host, device, pinned };

/// Its functions are called by the threads that make, run and end sessions, by several at once where several
/// sessions have it, and throw nothing. For memory of a GPU, and pinned memory, that GPU is current.
struct Allocator {
  /// At least one byte, at a multiple of `alignment`, a power of two; null where there is not so much. What
  /// is in the memory does not matter.
  std::function<void*(MemoryKind kind, size_t bytes, size_t alignment)> allocate;
  /// Nothing uses the memory any more. `bytes` is what was asked for.
  std::function<void(MemoryKind kind, void* memory, size_t bytes)> release;
};

/// What allocate gives. Throws Error (out_of_memory) for null, and Error for another alignment.
void* allocate_from(const Allocator& allocator, MemoryKind kind, size_t bytes, size_t alignment);

}  // namespace smelt
