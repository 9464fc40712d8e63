// Memory that several processes of a host have in common.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

namespace smelt {

/// A mapping of POSIX shared memory; moves, does not copy.
class SharedRegion {
 public:
  SharedRegion() = default;
  /// Makes a new one of zeros; throws Error (out_of_memory, io) where the host has no room for it.
  static SharedRegion create(const std::string& name, size_t bytes);
  /// Maps one that another process has made; throws Error (io).
  static SharedRegion open(const std::string& name, size_t bytes);
  /// Memory of this process alone.
  static SharedRegion of_one_process(size_t bytes);
  /// Removes the name. Processes that have mapped the region keep it, and it ends with the last of them. Has
  /// no effect if there is no such name.
  static void unlink(const std::string& name);
  /// A name that no other region has.
  static std::string new_name();

  SharedRegion(SharedRegion&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  SharedRegion& operator=(SharedRegion&& other) noexcept {
    std::swap(data_, other.data_), std::swap(size_, other.size_);
    return *this;
  }
  ~SharedRegion();

  std::byte* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  SharedRegion(std::byte* data, size_t size) : data_(data), size_(size) {}
  static SharedRegion map(int descriptor, size_t bytes);
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

/// Differs between hosts, and between two starts of one.
std::string host_identity();

}  // namespace smelt
