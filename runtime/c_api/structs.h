// Access to structs of an application, which may have been built with another version of runtime/smelt.h than
// this library. The application sets the member struct_size of a struct to its sizeof. That identifies the
// version of the struct, because later versions only append members.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "runtime/base/error.h"

namespace smelt::c_api {

/// Size of the first version of a struct, in bytes. If members are appended to a struct later, a
/// specialization must give its first size.
template <typename T>
inline constexpr size_t kFirstSize = sizeof(T);

/// Largest struct_size that is accepted. No version of a struct is larger, so a larger number means that
/// struct_size was not set.
inline constexpr size_t kMostBytes = 4096;

/// Returns struct_size. Throws Error if no version of the struct can have that size. `what`: the name of the
/// struct, for messages.
template <typename T>
size_t checked_size(const T& given, const char* what) {
  const size_t size = given.struct_size;
  if (size < kFirstSize<T> || size > kMostBytes || size % alignof(T) != 0)
    fail("{}: struct_size is {}, expected the struct's sizeof, {} here", what, size, sizeof(T));
  return size;
}

/// Returns a copy of the caller's struct. Members that the caller's version lacks are zero. Throws Error if a
/// member that this library's version lacks is not zero.
template <typename T>
T read_struct(const T& given, const char* what) {
  const size_t size = checked_size(given, what);
  const auto* bytes = reinterpret_cast<const std::byte*>(&given);
  for (size_t i = sizeof(T); i < size; ++i)
    if (bytes[i] != std::byte{})
      fail("{}: it is of {} bytes and sets what this library, which knows {} of them, does not have", what,
           size, sizeof(T));
  std::array<std::byte, sizeof(T)> copy{};
  std::memcpy(copy.data(), bytes, std::min(size, sizeof(T)));
  T value;
  std::memcpy(&value, copy.data(), sizeof(T));
  return value;
}

/// Copies to the caller's struct the members of `value` that the caller's version has. `to.struct_size` does
/// not change.
template <typename T>
void write_struct(T& to, T value, const char* what) {
  value.struct_size = checked_size(to, what);
  std::memcpy(static_cast<void*>(&to), &value, std::min(value.struct_size, sizeof(T)));
}

/// View of an array of the caller's structs. All elements must have the same struct_size, which is the
/// distance between elements in bytes. The view does not copy the array, which must outlive it.
template <typename T>
class StructArray {
 public:
  StructArray(T* first, size_t count, const char* what) : first_(first), count_(count), what_(what) {
    if (count_ == 0) return;
    if (!first_) fail("the list of {}s is null", what_);
    stride_ = checked_size(*first_, what_);
    for (size_t i = 1; i < count_; ++i)
      if (at(i).struct_size != stride_)
        fail("{} {}: struct_size is {}, expected {} as of the first one", what_, i, at(i).struct_size,
             stride_);
  }
  size_t size() const { return count_; }
  /// Returns the caller's element, of which only the first struct_size bytes exist.
  T& at(size_t i) const {
    using Byte = std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>;
    return *reinterpret_cast<T*>(reinterpret_cast<Byte*>(first_) + i * stride_);
  }
  /// Returns a copy as read_struct does.
  std::remove_const_t<T> read(size_t i) const { return read_struct<std::remove_const_t<T>>(at(i), what_); }

 private:
  T* first_;
  size_t count_, stride_ = 0;
  const char* what_;
};

}  // namespace smelt::c_api
