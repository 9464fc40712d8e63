#include "runtime/base/allocator.h"

#include "runtime/base/error.h"

namespace smelt {
namespace {

const char* memory_name(MemoryKind kind) {
  if (kind == MemoryKind::device) return "the GPU's memory";
  return kind == MemoryKind::pinned ? "pinned memory" : "the host's memory";
}

}  // namespace

void* allocate_from(const Allocator& allocator, MemoryKind kind, size_t bytes, size_t alignment) {
  void* memory = allocator.allocate(kind, bytes, alignment);
  if (!memory)
    fail_with(Status::out_of_memory, "the application's allocator has refused {} bytes of {}", bytes,
              memory_name(kind));
  if (reinterpret_cast<uintptr_t>(memory) % alignment == 0) return memory;
  allocator.release(kind, memory, bytes);
  fail("the application's allocator gave {} bytes of {} at {}: expected a multiple of {}", bytes,
       memory_name(kind), memory, alignment);
}

}  // namespace smelt
