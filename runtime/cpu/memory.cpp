#include "runtime/cpu/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "runtime/base/error.h"

namespace smelt {
namespace {

constexpr size_t kMapped =
    size_t{1} << 20;  // from here on blocks are mapped: zero pages come when they are touched

constexpr size_t kBlockAlignment = 64;

size_t rounded(size_t bytes) { return (bytes + kBlockAlignment - 1) / kBlockAlignment * kBlockAlignment; }

/// Returns the number of a file of this process's control group; `absent` if there is none, or "max".
int64_t group_number(const char* file, int64_t absent) {
  int64_t number = 0;
  return std::ifstream(std::string("/sys/fs/cgroup/") + file) >> number ? number : absent;
}

/// Returns the bytes of the group's page cache that the kernel gives up first.
int64_t reclaimable_in_group() {
  std::ifstream stat("/sys/fs/cgroup/memory.stat");
  int64_t bytes = 0;
  for (std::string name; stat >> name >> bytes;)
    if (name == "inactive_file") return bytes;
  return 0;
}

/// Returns the bytes that the control group may still take.
int64_t available_in_group() {
  const int64_t limit = group_number("memory.max", INT64_MAX);
  if (limit == INT64_MAX) return limit;
  return std::max<int64_t>(0, limit - group_number("memory.current", 0) + reclaimable_in_group());
}

}  // namespace

Block::Block(int64_t bytes, std::shared_ptr<const Allocator> allocator)
    : bytes_(static_cast<size_t>(bytes)), allocator_(std::move(allocator)) {
  if (bytes_ == 0) return;
  if (allocator_) {
    data_ = static_cast<std::byte*>(allocate_from(*allocator_, MemoryKind::host, bytes_, kBlockAlignment));
    std::memset(data_, 0, bytes_);
    return;
  }
  if (bytes_ >= kMapped) {
    void* mapped = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) fail_with(Status::out_of_memory, "out of memory: {} bytes were refused", bytes);
    ::madvise(mapped, bytes_, MADV_HUGEPAGE);  // an advice: no matter if it is not taken
    data_ = static_cast<std::byte*>(mapped);
    return;
  }
  data_ = static_cast<std::byte*>(std::aligned_alloc(kBlockAlignment, rounded(bytes_)));
  if (!data_) fail_with(Status::out_of_memory, "out of memory: {} bytes were refused", bytes);
  std::memset(data_, 0, rounded(bytes_));
}

Block::~Block() {
  if (allocator_ && data_)
    allocator_->release(MemoryKind::host, data_, bytes_);
  else if (bytes_ >= kMapped)
    ::munmap(data_, bytes_);
  else
    std::free(data_);
}

int64_t available_memory() {
  int64_t available = INT64_MAX;
  std::ifstream meminfo("/proc/meminfo");
  for (std::string line; std::getline(meminfo, line);)
    if (line.starts_with("MemAvailable:"))
      available = std::strtoll(line.c_str() + std::strlen("MemAvailable:"), nullptr, 10) * 1024;
  return std::min(available, available_in_group());
}

}  // namespace smelt
