// Floats in the memory of the fake GPU (fake_gpu.h), which the host can access because it is host memory.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "runtime/cuda/memory.h"

namespace smelt::fake {

/// A block of device memory that is initialized with `values`.
class DeviceFloats {
 public:
  explicit DeviceFloats(const std::vector<float>& values, int device = 0)
      : block_(cuda::device_block(cuda::Device::open(device), static_cast<int64_t>(values.size() * 4))),
        count_(values.size()) {
    std::ranges::copy(values, floats().begin());
  }
  std::span<float> floats() const { return {static_cast<float*>(pointer()), count_}; }
  std::vector<float> values() const { return {floats().begin(), floats().end()}; }
  void* pointer() const { return reinterpret_cast<void*>(block_.get()); }
  int64_t bytes() const { return static_cast<int64_t>(count_ * 4); }

 private:
  cuda::DeviceBlock block_;
  size_t count_;
};

}  // namespace smelt::fake
