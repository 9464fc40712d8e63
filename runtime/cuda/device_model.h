// Properties of a GPU for scheduling its kernels: numbers of its architecture and of the chip.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace smelt {

struct DeviceModel {
  int multiprocessors = 0;
  int warp_threads = 32;
  int block_threads = 0;             // the most of a block
  int multiprocessor_threads = 0;    // the most that are resident on a multiprocessor
  int multiprocessor_registers = 0;  // of 32 bits
  int64_t block_shared_bytes = 0;    // the most of a block that asks for more than kPlainSharedBytes
  int64_t multiprocessor_shared_bytes = 0;
  int64_t l2_bytes = 0;
  double memory_bytes_per_second = 0;  // of the device's memory, by its clock and width
  bool operator==(const DeviceModel&) const = default;

  std::string str() const;  // all of it, for keys of caches
};

/// Bytes of shared memory that a block may use without asking for them, on every architecture.
inline constexpr int64_t kPlainSharedBytes = 48 << 10;

/// Returns the model of an architecture given in place of a GPU: that of its representative chip. An
/// architecture without a row uses the one before it.
DeviceModel device_model(int compute_capability);
/// Compute capabilities with a row: 80, 86, ... Their kernels are tested; others of the same generations run
/// their code.
std::vector<int> named_architectures();

}  // namespace smelt
