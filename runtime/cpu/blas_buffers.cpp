#include "runtime/cpu/blas_core.h"

#include <mutex>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/system/memory_room.h"

/// Functions of OpenBLAS that no header declares: a buffer of its pool, which keeps what it has mapped.
extern "C" {
[[gnu::weak]] void* blas_memory_alloc(int);
[[gnu::weak]] void blas_memory_free(void*);
}

namespace smelt {
namespace {

constexpr size_t kBufferBytes = size_t{132} << 20;  // at most, on any processor

/// Buffers of the pool, which are its own again at the end of the lifetime.
class Buffers {
 public:
  Buffers() = default;
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;
  ~Buffers() {
    for (void* buffer : taken_) blas_memory_free(buffer);
  }

  /// Looks at one at a time: the system may refuse one mapping that is larger than its memory, though nothing
  /// of it is used.
  void take(bool is_new) {
    if (is_new && !can_map(kBufferBytes))
      fail_with(
          Status::out_of_memory,
          "matrix products need {} MiB of address space for each thread, and the system refuses those of "
          "thread {}: raise the limit, as with ulimit -v unlimited, or use fewer threads",
          kBufferBytes >> 20, taken_.size() + 1);
    taken_.push_back(blas_memory_alloc(0));
  }

 private:
  std::vector<void*> taken_;
};

}  // namespace

void hold_blas_buffers(int threads) {
  static std::mutex mutex;
  static int held = 0;
  const std::lock_guard lock(mutex);
  if (threads <= held || !blas_memory_alloc || !blas_memory_free) return;
  Buffers buffers;
  for (int i = 0; i < threads; ++i) buffers.take(i >= held);
  held = threads;
}

}  // namespace smelt
