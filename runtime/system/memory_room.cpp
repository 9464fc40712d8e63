#include "runtime/system/memory_room.h"

#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <new>

namespace smelt {

bool can_map(size_t bytes) {
  void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return false;
  ::munmap(mapped, bytes);
  return true;
}

void save_addresses() {
  constexpr int kLargeBlock = 256 << 10;
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  ::mallopt(M_ARENA_MAX, 1);
  ::mallopt(M_MMAP_THRESHOLD, kLargeBlock);
}

/// Claims that are partly in use are counted in full: too much, never too little.
bool MemoryRoom::fits(size_t bytes) const {
  const size_t all = claimed_ + bytes + spare_;
  return can_map(all) || (::malloc_trim(0) != 0 && can_map(all));
}

bool MemoryRoom::has(size_t bytes) const {
  const std::lock_guard lock(mutex_);
  return fits(bytes);
}

void MemoryRoom::require(size_t bytes) const {
  if (!has(bytes)) throw std::bad_alloc();
}

MemoryRoom::Claim MemoryRoom::claim(size_t bytes) {
  std::unique_lock lock(mutex_);
  released_.wait(lock, [&] { return claimed_ == 0 || fits(bytes); });
  if (!fits(bytes)) throw std::bad_alloc();
  claimed_ += bytes;
  return {*this, bytes};
}

void MemoryRoom::release(size_t bytes) {
  const std::lock_guard lock(mutex_);
  claimed_ -= bytes;
  released_.notify_all();
}

}  // namespace smelt
