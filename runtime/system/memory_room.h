// Claims of memory: a task reserves the number of bytes that it needs before it allocates them. If an
// allocation fails in a destructor or in a library function that must not throw, the process ends. So a task
// for which there is not enough memory is refused before it starts.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>

namespace smelt {

/// Returns whether `bytes` more bytes of address space can be mapped now.
bool can_map(size_t bytes);

/// Configures malloc if the address space of the process is limited (RLIMIT_AS). All threads then share one
/// heap, because a heap per thread would reserve 64 MiB each. Large blocks are returned to the system when
/// they are freed. Requires: called before threads are started.
void save_addresses();

/// The memory of this process that tasks can claim. Thread-safe.
class MemoryRoom {
 public:
  /// A claim of memory, which ends when this object is destroyed.
  class Claim {
   public:
    Claim(MemoryRoom& room, size_t bytes) : room_(room), bytes_(bytes) {}
    ~Claim() { room_.release(bytes_); }
    Claim(const Claim&) = delete;
    Claim& operator=(const Claim&) = delete;

   private:
    MemoryRoom& room_;
    const size_t bytes_;
  };

  /// `spare`: bytes that must remain available in addition to all claims.
  explicit MemoryRoom(size_t spare) : spare_(spare) {}

  /// Returns whether the sum of `bytes`, all claims and `spare` can be mapped now.
  bool has(size_t bytes) const;
  /// Throws std::bad_alloc if has(bytes) is false.
  void require(size_t bytes) const;
  /// Claims `bytes`. If they are not available, waits until other claims have ended. Throws std::bad_alloc if
  /// they are not available although there are no other claims.
  [[nodiscard]] Claim claim(size_t bytes);

 private:
  bool fits(size_t bytes) const;
  void release(size_t bytes);

  const size_t spare_;
  mutable std::mutex mutex_;
  std::condition_variable released_;
  size_t claimed_ = 0;
};

}  // namespace smelt
