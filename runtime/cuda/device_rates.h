// Measured rates of a GPU, and numbers of its driver attributes.
#pragma once

#include "runtime/base/dtype.h"
#include "runtime/cuda/memory.h"

namespace smelt::cuda {

// ---- device_rates.cpp
// Highest rates that a device reaches, found by measurement. Profiles and the model FLOP utilization (MFU)
// are relative to them.

/// Returns the bytes read plus the bytes written per second by the fastest of five copies within device
/// memory. Each copies 256 MiB, which is more than the caches hold.
double copy_bytes_per_second(const Device& device, Stream stream);

/// Returns the floating-point operations per second of the fastest of five products of two 4096 x 4096
/// matrices of `dtype` with f32 accumulation, by the fastest cuBLASLt algorithm found. Returns 0 if there is
/// not enough free memory.
double matrix_flops_per_second(const Device& device, Stream stream, DType dtype);

// ---- attributes of the driver
// Constants of the driver's enum CUdevice_attribute. Tests compare them with cuda.h on machines that have it.

inline constexpr int kBlockThreads = 1, kWarpThreads = 10, kMultiprocessors = 16, kMemoryKilohertz = 36,
                     kMemoryBits = 37, kL2Bytes = 38, kMultiprocessorThreads = 39, kCapabilityMajor = 75,
                     kCapabilityMinor = 76, kMultiprocessorSharedBytes = 81, kMultiprocessorRegisters = 82,
                     kBlockSharedBytes = 97, kFlushesRemoteWrites = 98;

}  // namespace smelt::cuda
