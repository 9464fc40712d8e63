#include "runtime/cpu/blas_buffers.h"

#include <mutex>
#include <vector>

#include "runtime/error.h"
#include "runtime/system/memory_room.h"

/// Functions of OpenBLAS that no header declares: a buffer of its pool, which keeps what it has mapped.
extern "C" {
[[gnu::weak]] void* blas_memory_alloc(int);
[[gnu::weak]] void blas_memory_free(void*);
}

namespace smelt {
namespace {

constexpr size_t kBufferBytes = size_t{132} << 20;  // at most, on any processor

void require_room(int buffers) {
  const size_t bytes = static_cast<size_t>(buffers) * kBufferBytes;
  if (can_map(bytes)) return;
  fail_with(Status::out_of_memory,
            "matrix products need {} MiB more of address space for {} threads: raise the limit, as with "
            "ulimit -v unlimited, or use fewer threads",
            bytes >> 20, buffers);
}

}  // namespace

void hold_blas_buffers(int threads) {
  static std::mutex mutex;
  static int held = 0;
  const std::lock_guard lock(mutex);
  if (threads <= held || !blas_memory_alloc || !blas_memory_free) return;
  require_room(threads - held);
  std::vector<void*> buffers;
  for (int i = 0; i < threads; ++i) buffers.push_back(blas_memory_alloc(0));
  for (void* buffer : buffers) blas_memory_free(buffer);
  held = threads;
}

}  // namespace smelt
