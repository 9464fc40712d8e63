// Numbers of the driver's CUdevice_attribute; tests compare them with the toolkit's header where there is
// one.
#pragma once

namespace smelt::cuda {

inline constexpr int kBlockThreads = 1, kWarpThreads = 10, kMultiprocessors = 16, kMemoryKilohertz = 36,
                     kMemoryBits = 37, kL2Bytes = 38, kMultiprocessorThreads = 39, kCapabilityMajor = 75,
                     kCapabilityMinor = 76, kMultiprocessorSharedBytes = 81, kMultiprocessorRegisters = 82,
                     kBlockSharedBytes = 97, kFlushesRemoteWrites = 98;

}  // namespace smelt::cuda
