// Memory that several processes of a host share.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

namespace smelt {

/// A mapping of POSIX shared memory. It can be moved, but not copied. The destructor unmaps the memory.
class SharedRegion {
 public:
  SharedRegion() = default;
  /// Creates a region of zeros and maps it. Throws Error (out_of_memory or io) if the host has no memory for
  /// it, or if the name is in use.
  static SharedRegion create(const std::string& name, size_t bytes);
  /// Maps a region that another process has created. Throws Error (out_of_memory or io) if that is not
  /// possible.
  static SharedRegion open(const std::string& name, size_t bytes);
  /// Returns memory of this process alone, which has no name.
  static SharedRegion of_one_process(size_t bytes);
  /// Removes the name. Processes that have mapped the region can still use it, and the memory is freed when
  /// the last of them unmaps it. Has no effect if there is no such name.
  static void unlink(const std::string& name);
  /// Returns a random name, which no other region has.
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

/// Returns a text that is the same for all processes of a host, and differs between hosts, and between two
/// boots of a host.
std::string host_identity();

}  // namespace smelt
