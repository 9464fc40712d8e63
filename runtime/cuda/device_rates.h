// Properties and measured rates of a GPU.
#pragma once

#include "runtime/base/dtype.h"
#include "runtime/cuda/memory.h"

namespace smelt::cuda {

// ---- device_rates.cpp
// The highest rates that a device reaches, measured: the yardsticks of profiles and of MFU.

/// Bytes read and written a second by the best of a few copies of a quarter of a gibibyte, which no cache
/// holds.
double copy_bytes_per_second(const Device& device, Stream stream);

/// Floating-point operations a second of a matmul of two 4096 x 4096 matrices of `dtype` with f32 sums: the
/// best of a few by the best algorithm found. 0 if there is no memory left for them.
double matrix_flops_per_second(const Device& device, Stream stream, DType dtype);

// ---- attributes of the driver
// Numbers of the driver's CUdevice_attribute; tests compare them with the toolkit's header where there is
// one.

inline constexpr int kBlockThreads = 1, kWarpThreads = 10, kMultiprocessors = 16, kMemoryKilohertz = 36,
                     kMemoryBits = 37, kL2Bytes = 38, kMultiprocessorThreads = 39, kCapabilityMajor = 75,
                     kCapabilityMinor = 76, kMultiprocessorSharedBytes = 81, kMultiprocessorRegisters = 82,
                     kBlockSharedBytes = 97, kFlushesRemoteWrites = 98;

}  // namespace smelt::cuda
