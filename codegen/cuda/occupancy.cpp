#include "codegen/cuda/occupancy.h"

#include <algorithm>
#include <limits>

namespace smelt {
namespace {

// Allocation units of a multiprocessor, for compute capability 8.0 and later.
constexpr int kRegistersOfWarp = 256;     // a warp gets a multiple of them, ...
constexpr int kWarpsOfQuarters = 4;       // ... and warps are in four parts of the register file
constexpr int64_t kSharedBytes = 128;     // a block gets a multiple of them, ...
constexpr int64_t kReservedBytes = 1024;  // ... with these for the system

constexpr int64_t kUnbounded = std::numeric_limits<int>::max();

int64_t round_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

/// Returns the most blocks per multiprocessor, from the table of technical specifications.
int64_t most_blocks(int compute_capability) {
  if (compute_capability == 86 || compute_capability == 87) return 16;
  return compute_capability == 89 || compute_capability >= 120 ? 24 : 32;
}

int64_t blocks_by_registers(const BlockNeeds& needs, int64_t warps, const DeviceModel& device) {
  if (needs.registers <= 0) return kUnbounded;
  const int64_t of_warp = round_up(int64_t{needs.registers} * device.warp_threads, kRegistersOfWarp);
  return device.multiprocessor_registers / of_warp / kWarpsOfQuarters * kWarpsOfQuarters / warps;
}

}  // namespace

Occupancy occupancy(const BlockNeeds& needs, const DeviceModel& device, int compute_capability) {
  if (needs.threads <= 0 || device.warp_threads <= 0) return {};
  const int64_t warps = round_up(needs.threads, device.warp_threads) / device.warp_threads;
  const int64_t most_warps = device.multiprocessor_threads / device.warp_threads;
  const std::pair<int64_t, std::string_view> bounds[] = {
      {most_warps / warps, "threads"},
      {most_blocks(compute_capability), "blocks"},
      {blocks_by_registers(needs, warps, device), "registers"},
      {device.multiprocessor_shared_bytes /
           round_up(std::max<int64_t>(0, needs.shared_bytes) + kReservedBytes, kSharedBytes),
       "shared memory"}};
  const auto& [blocks, bound] = *std::ranges::min_element(bounds, {}, [](const auto& b) { return b.first; });
  return {static_cast<int>(blocks), static_cast<double>(blocks * warps) / static_cast<double>(most_warps),
          bound};
}

}  // namespace smelt
