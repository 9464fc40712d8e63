#include "runtime/cuda/device_model.h"

#include <fmt/format.h>

namespace smelt {
namespace {

constexpr int64_t kKiB = 1 << 10, kMiB = 1 << 20;

struct Row {
  int compute_capability;
  DeviceModel model;
};

// clang-format off
constexpr Row kRows[] = {
    //    multiprocessors; threads of a warp, a block, a multiprocessor; registers and shared memory; L2; memory
    {80,  {108, 32, 1024, 2048, 65536, 163 * kKiB, 164 * kKiB,  40 * kMiB, 2.04e12}},  // A100 SXM 80 GB
    {86,  { 84, 32, 1024, 1536, 65536,  99 * kKiB, 100 * kKiB,   6 * kMiB, 0.70e12}},  // A40
    {89,  {142, 32, 1024, 1536, 65536,  99 * kKiB, 100 * kKiB,  96 * kMiB, 0.86e12}},  // L40S
    {90,  {132, 32, 1024, 2048, 65536, 227 * kKiB, 228 * kKiB,  50 * kMiB, 3.35e12}},  // H100 SXM; H200 has 4.8e12
    {100, {148, 32, 1024, 2048, 65536, 227 * kKiB, 228 * kKiB, 126 * kMiB, 8.00e12}},  // B200
};
// clang-format on

}  // namespace

DeviceModel device_model(int compute_capability) {
  const Row* best = &kRows[0];
  for (const Row& row : kRows)
    if (row.compute_capability <= compute_capability) best = &row;
  return best->model;
}

std::vector<int> named_architectures() {
  std::vector<int> all;
  for (const Row& row : kRows) all.push_back(row.compute_capability);
  return all;
}

std::string DeviceModel::str() const {
  return fmt::format(
      "{} multiprocessors of {} threads, {} registers and {} bytes of shared memory; warps of {}; blocks of "
      "{} "
      "threads and {} bytes; L2 {} bytes; {} bytes a second",
      multiprocessors, multiprocessor_threads, multiprocessor_registers, multiprocessor_shared_bytes,
      warp_threads, block_threads, block_shared_bytes, l2_bytes, memory_bytes_per_second);
}

}  // namespace smelt
