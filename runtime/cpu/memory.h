// Memory of the CPU executor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "runtime/base/allocator.h"

namespace smelt {

/// Zeroed memory at a multiple of 64 bytes; large blocks ask for huge pages.
class Block {
 public:
  Block() = default;
  /// Allocates from the allocator, if there is one. Throws Error (out_of_memory) with the requested bytes.
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

/// The memory that this process may still allocate according to the system; INT64_MAX where that is not
/// known.
int64_t available_memory();

}  // namespace smelt
