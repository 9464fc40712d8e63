// Named tensors, dense and row-major: the inputs and outputs of a plan's entries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/dtype.h"

namespace smelt {

/// Returns the number of elements of a shape; throws Error for a negative size or on 64-bit overflow.
int64_t count_elements(std::span<const int64_t> shape);
/// Returns a description for messages: "i32[2,128]".
std::string describe(DType dtype, std::span<const int64_t> shape);

/// A tensor that the session reads. The caller owns the memory. `on_device`: `data` is an address on the
/// session's device (see Session::run).
struct InputTensor {
  std::string name;
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  const void* data = nullptr;
  bool on_device = false;
};

/// Memory of the caller into which an output is written. `bytes` is the size of the memory. `on_device`: as
/// in InputTensor.
struct OutputBuffer {
  std::string name;
  void* data = nullptr;
  int64_t bytes = 0;
  bool on_device = false;
};

/// A tensor that owns its elements, which are in host memory.
struct HostTensor {
  std::string name;
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;

  /// Returns the elements. Requires: T is the C++ type of `dtype`.
  template <typename T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
};

}  // namespace smelt
