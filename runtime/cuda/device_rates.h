// The highest rates that a device reaches, measured: the yardsticks of profiles and of MFU.
#pragma once

#include "runtime/base/dtype.h"
#include "runtime/cuda/memory.h"

namespace smelt::cuda {

/// Bytes read and written a second by the best of a few copies of a quarter of a gibibyte, which no cache
/// holds.
double copy_bytes_per_second(const Device& device, Stream stream);

/// Floating-point operations a second of a matmul of two 4096 x 4096 matrices of `dtype` with f32 sums: the
/// best of a few by the best algorithm found. 0 if there is no memory left for them.
double matrix_flops_per_second(const Device& device, Stream stream, DType dtype);

}  // namespace smelt::cuda
