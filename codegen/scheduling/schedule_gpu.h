// Schedules of GPU kernels: accesses of 16 bytes, enough loads in flight to keep the memory busy, and rows
// that stay in registers if they fit. This header declares the decisions that are common to all kernels;
// schedule_gpu_rows.cpp and schedule_gpu_tiles.cpp have the others.
#pragma once

#include <algorithm>
#include <bit>

#include "codegen/kernel_passes/kernel_shape.h"
#include "codegen/kernel_passes/vector_accesses.h"
#include "codegen/scheduling/schedule_kernels.h"

namespace smelt {

// Properties of the device come from DeviceModel. The constants of this header and of the two .cpp files were
// chosen by measurement on an H200. They depend more on the instructions of a thread than on the GPU.

/// Threads per block, by kind of kernel. kRowThreads: each thread group processes one row. kWalkThreads: the
/// kernel has a grid-stride loop over rows. kFlatThreads: columns, not rows, are divided among threads
/// (Schedule::flat). kTileThreads: the kernel has reduced axes (schedule_tiles); at most this number.
/// kLargestTeam: the largest number of threads that share a row.
constexpr int kRowThreads = 128, kWalkThreads = 512, kFlatThreads = 256, kTileThreads = 512;
constexpr int64_t kLargestTeam = 512;
/// Number of registers of a thread that may hold elements of a row.
constexpr int64_t kPayload = 64;

/// Return n rounded up (pow2_ceil) or down (pow2_floor) to a power of two; 1 if n < 1.
inline int64_t pow2_ceil(int64_t n) {
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(1, n))));
}
inline int64_t pow2_floor(int64_t n) {
  return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(std::max<int64_t>(1, n))));
}
inline int64_t quotient_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Returns the number of lanes that share a row if sums over rows have one order: a function of the row's
/// length, in elements, alone.
constexpr int64_t kRowElements = 32;  // of a row in one thread
inline int64_t fixed_team(int64_t columns) {
  return std::min(kLargestTeam, pow2_ceil(quotient_up(columns, kRowElements)));
}

/// A kernel that is being scheduled, and the analyses of it that decisions are based on.
struct GpuKernel {
  /// Resets the kernel's schedule, except for splits and cached values.
  GpuKernel(Kernel& kernel, const Symbols& symbols, const DeviceModel& device);
  GpuKernel(const GpuKernel&) = delete;  // members refer to each other

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
  /// Returns the number of running sums (`accumulate` instructions) that are stored as `how` specifies.
  int64_t accumulators(Accumulation how) const;
  /// Returns whether the kernel sums rows whose sums have one order (Kernel::in_order). Its schedule then has
  /// vectors of eight elements and a team of fixed_team lanes.
  bool sums_in_order() const;
  /// Returns the number of vectors per row.
  int64_t vectors() const { return quotient_up(columns, schedule.vector_width); }
  /// Returns the number of elements per vector to choose for the schedule.
  int64_t vector_width() const;
  /// See schedule_gpu.cpp. Sets schedule.vector_width.
  int64_t stored_whole(int64_t wanted) const;
  /// Returns the number of vectors that a thread loads before it processes the first of them, if a row does
  /// not stay in registers.
  int64_t in_flight() const;
};

/// Complete a schedule that already has `flat` and `vector_width`: schedule_rows for kernels without reduced
/// axes, schedule_tiles for the others. schedule_rows returns false if the values that the kernel keeps
/// between its blocks (Schedule::cached) do not fit the registers.
bool schedule_rows(GpuKernel& kernel);
void schedule_tiles(GpuKernel& kernel);

}  // namespace smelt
