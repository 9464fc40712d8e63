// Memory of the CPU executor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "runtime/base/allocator.h"

namespace smelt {

/// Owner of a block of memory, which is initially zero and aligned to 64 bytes. For large blocks, the system
/// is advised to use huge pages.
class Block {
 public:
  Block() = default;
  /// Allocates `bytes` bytes from the allocator; null: from the system. For 0 bytes, data() is null. Throws
  /// Error (out_of_memory) with the requested bytes.
  explicit Block(int64_t bytes, std::shared_ptr<const Allocator> allocator = nullptr);
  Block(Block&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)),
        allocator_(std::move(other.allocator_)) {}
  Block& operator=(Block&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    allocator_.swap(other.allocator_);
    return *this;
  }
  ~Block();

  std::byte* data() const { return data_; }
  std::span<std::byte> bytes() const { return {data_, bytes_}; }

 private:
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
  std::shared_ptr<const Allocator> allocator_;
};

/// Returns an upper bound, in bytes, of the memory that this process can still use: the system's available
/// memory, or the limit of the control group if that is less. Returns INT64_MAX if the system reports
/// neither.
int64_t available_memory();

}  // namespace smelt
