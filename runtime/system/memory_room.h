// Memory that is claimed before it is used. Destructors and functions of libraries that must not throw end
// the process where an allocation fails, so work is refused while there is still memory for these.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>

namespace smelt {

/// Returns whether the system would map `bytes` more now.
bool can_map(size_t bytes);

/// Saves address space if it is limited: threads share one heap, because they otherwise reserve 64 MiB each,
/// and large blocks go back to the system when they are freed. Requires: called before threads are started.
void save_addresses();

/// Thread-safe.
class MemoryRoom {
 public:
  /// A claim of memory; ends with its lifetime.
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

  /// `spare`: bytes that no claim may take.
  explicit MemoryRoom(size_t spare) : spare_(spare) {}

  /// Returns whether `bytes` can be claimed now, in addition to what others have claimed.
  bool has(size_t bytes) const;
  /// Throws std::bad_alloc where they cannot.
  void require(size_t bytes) const;
  /// Returns the same, but waits while others have claims that may end.
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
