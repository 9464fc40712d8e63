// Schedules for a GPU: accesses of 16 bytes, enough of them in flight, and rows in registers where these
// suffice. This file has the decisions for all kernels; rows and tiles have a file each.
#pragma once

#include <algorithm>
#include <bit>

#include "codegen/kernel_passes/kernel_shape.h"
#include "codegen/kernel_passes/vector_accesses.h"
#include "codegen/scheduling/schedule_kernels.h"

namespace smelt {

// Properties of the device come from DeviceModel. The constants here and in the files for rows and tiles were
// measured on an H200, in the unit that is given, and depend more on the instructions of a thread than on the
// chip.

/// Threads per block: of row kernels, of grid-stride loops, of flat ranges, and of tiles. kLargestTeam: the
/// most threads that share a row.
constexpr int kRowThreads = 128, kWalkThreads = 512, kFlatThreads = 256, kTileThreads = 512;
constexpr int64_t kLargestTeam = 512;
/// Registers of a thread for what it keeps of a row.
constexpr int64_t kPayload = 64;

inline int64_t pow2_ceil(int64_t n) {
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(1, n))));
}
inline int64_t pow2_floor(int64_t n) {
  return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(std::max<int64_t>(1, n))));
}
inline int64_t quotient_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// A kernel that is about to get a schedule.
struct GpuKernel {
  /// Resets the kernel's schedule, except for splits and cached values.
  GpuKernel(Kernel& kernel, const Symbols& symbols, const DeviceModel& device);
  GpuKernel(const GpuKernel&) = delete;  // its parts refer to one another

  Kernel& kernel;
  Schedule& schedule;
  const Symbols& symbols;
  const DeviceModel& device;
  KernelShape shape;
  VectorAccesses accesses;
  int64_t columns = 1;  // of a row, at the symbols' bounds

  int64_t warp() const { return device.warp_threads; }
  /// Returns the product of the extents of the parallel axes, at the symbols' bounds.
  int64_t rows_at_bound() const;
  int64_t accumulators(Accumulation how) const;
  /// Vectors of a row.
  int64_t vectors() const { return quotient_up(columns, schedule.vector_width); }
  int64_t vector_width() const;
  /// Vectors whose loads are in flight, where a row does not stay in registers.
  int64_t in_flight() const;
};

/// Complete a schedule that already specifies whether the kernel is flat and its vector width. The first
/// returns false where the values that the kernel keeps of its rows do not fit registers.
bool schedule_rows(GpuKernel& kernel);
void schedule_tiles(GpuKernel& kernel);

}  // namespace smelt
