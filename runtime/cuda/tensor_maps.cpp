#include "runtime/cuda/template_launch.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "runtime/base/error.h"

namespace smelt::cuda {
namespace {

int data_type_of(DType dtype) {
  if (dtype == DType::f32) return DriverTensorMap::kF32;
  if (dtype == DType::i8) return DriverTensorMap::kBytes;
  return dtype == DType::bf16 ? DriverTensorMap::kBf16 : DriverTensorMap::kF16;
}

/// 0, 32, 64 and 128 bytes are 0, 1, 2 and 3.
int swizzle_of(int bytes) { return bytes == 0 ? 0 : std::bit_width(static_cast<unsigned>(bytes)) - 5; }

}  // namespace

DriverTensorMap encode(const TensorMap& map, DType dtype, DevicePointer address, const SymbolValues& values,
                       const std::string& place) {
  if (!driver().TensorMapEncodeTiled)
    fail_with(Status::unavailable, "{}: the driver is for CUDA {}: its kernel needs one for CUDA 12 or later",
              place, driver_cuda_version());
  std::vector<uint64_t> extents, strides;
  for (const Dim& extent : map.extents) extents.push_back(static_cast<uint64_t>(extent.evaluate(values)));
  for (const Dim& stride : map.strides)
    strides.push_back(static_cast<uint64_t>(stride.evaluate(values) * size_of(dtype)));
  const std::vector<unsigned> box(map.box.begin(), map.box.end()), steps(box.size(), 1);
  DriverTensorMap made;
  const Driver::Code code = driver().TensorMapEncodeTiled(
      &made, data_type_of(dtype), static_cast<unsigned>(extents.size()), std::bit_cast<void*>(address),
      extents.data(), strides.data(), box.data(), steps.data(), DriverTensorMap::kNoInterleaving,
      swizzle_of(map.swizzle_bytes), DriverTensorMap::kPromotion128, DriverTensorMap::kZeros);
  check(code, fmt::format("{}: the map of argument {}", place, map.parameter).c_str());
  return made;
}

}  // namespace smelt::cuda
