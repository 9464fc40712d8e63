// Properties of a GPU that the compiler uses to schedule kernels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace smelt {

struct DeviceModel {
  int multiprocessors = 0;
  int warp_threads = 32;
  int block_threads = 0;             // most threads per block
  int multiprocessor_threads = 0;    // most resident threads per multiprocessor
  int multiprocessor_registers = 0;  // 32-bit registers per multiprocessor
  int64_t block_shared_bytes = 0;    // most per block, if it opts in to more than kPlainSharedBytes
  int64_t multiprocessor_shared_bytes = 0;
  int64_t l2_bytes = 0;
  double memory_bytes_per_second = 0;  // peak rate of device memory
  bool operator==(const DeviceModel&) const = default;

  /// Returns a text with all members, for cache keys.
  std::string str() const;
};

/// Bytes of shared memory that a block may use on every architecture without the opt-in attribute.
inline constexpr int64_t kPlainSharedBytes = 48 << 10;

/// Returns the model of a representative chip of an architecture, for compiling without a GPU. An
/// architecture that named_architectures() does not list gets the model of the next lower one in that list,
/// or of the lowest.
DeviceModel device_model(int compute_capability);
/// Returns the compute capabilities for which there is a model, in ascending order: 80, 86, ...
std::vector<int> named_architectures();

}  // namespace smelt
