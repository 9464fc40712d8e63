// What is known of a GPU when kernels are scheduled for it: numbers of its architecture and of the chip.
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

/// What a block may have of shared memory without asking for it, on every architecture.
inline constexpr int64_t kPlainSharedBytes = 48 << 10;

/// Of an architecture that is named in place of a GPU: the chip that it is known for. Architectures without a
/// row of their own have the one before theirs.
DeviceModel device_model(int compute_capability);
/// Compute capabilities with a row: 80, 86, ... Their kernels are tested; others of the same generations run
/// their code.
std::vector<int> named_architectures();

}  // namespace smelt
