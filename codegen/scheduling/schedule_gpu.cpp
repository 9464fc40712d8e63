#include <algorithm>

#include "codegen/kernel_passes/kernel_indices.h"
#include "codegen/kernel_passes/kernel_passes.h"
#include "codegen/kernel_passes/vector_alignment.h"
#include "codegen/scheduling/schedule_gpu.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

using Kind = Instruction::Kind;

/// Bytes of one access, the widest that there is; numbers that one call of Philox makes.
constexpr int64_t kAccessBytes = 16, kRandomNumbers = 8;
/// Registers of a thread for loads in flight, as f32; more in flat kernels, which keep nothing, and fewer
/// with a reduction.
constexpr int64_t kInFlight = 32, kFlatInFlight = 64;

/// Columns of a row from which on whole warps share it, and elements from which on lanes exchange some of
/// them.
constexpr int64_t kWarpsOfRow = 2048, kManyElements = int64_t{1} << 22;

/// Terms in a thread's share of a sum, at the symbols' bounds, from which on it is a sum of short ones.
constexpr int64_t kLongShare = 1024;

bool sums_real_numbers(const GpuKernel& gpu) {
  return llvm::any_of(gpu.shape.all_of(Kind::reduce), [&](int id) {
    const Instruction& x = gpu.kernel.instructions[id];
    return x.reduce_op == ReduceOp::add && is_float(x.dtype);
  });
}

/// Terms that a thread has of a sum.
int64_t share_of_sum(const GpuKernel& gpu) {
  const KernelShape& shape = gpu.shape;
  Dim terms = 1;
  for (const int axis : shape.is_reduced() ? shape.reduced : shape.columns)
    terms *= gpu.kernel.axes[axis].extent;
  const Schedule& s = gpu.schedule;
  int64_t threads = shape.is_reduced() ? s.threads / s.team : s.team;
  if (s.flat) threads = s.team * std::max<int64_t>(1, s.splits);
  return bound_or_large(terms, gpu.symbols) / std::max<int64_t>(1, threads);
}

/// False where the values that the kernel keeps of its rows do not fit registers.
bool choose_schedule(Kernel& kernel, const Symbols& symbols, const DeviceModel& device) {
  GpuKernel gpu(kernel, symbols, device);
  bool fits = true;
  if (gpu.shape.is_reduced())
    schedule_tiles(gpu);
  else
    fits = schedule_rows(gpu);
  if (sums_real_numbers(gpu) && share_of_sum(gpu) > kLongShare) kernel.schedule.short_sum = kShortSumTerms;
  kernel.schedule.index32 = has_32_bit_indices(kernel, symbols);
  return fits;
}

}  // namespace

GpuKernel::GpuKernel(Kernel& kernel, const Symbols& symbols, const DeviceModel& device)
    : kernel(kernel),
      schedule(kernel.schedule),
      symbols(symbols),
      device(device),
      shape(kernel),
      accesses(kernel, shape) {
  schedule = {.splits = schedule.splits, .cached = schedule.cached};
  llvm::sort(schedule.cached);
  schedule.cached.erase(std::unique(schedule.cached.begin(), schedule.cached.end()), schedule.cached.end());
  schedule.flat = can_be_flat(kernel);
  schedule.vector_width = static_cast<int>(vector_width());
  if (shape.inner >= 0)
    columns = std::max<int64_t>(1, bound_or_large(kernel.axes[shape.inner].extent, symbols));
}

int64_t GpuKernel::rows_at_bound() const {
  Dim range = 1;
  for (int axis : shape.parallel) range *= kernel.axes[axis].extent;
  return std::max<int64_t>(1, bound_or_large(range, symbols));
}

int64_t GpuKernel::accumulators(Accumulation how) const {
  return llvm::count_if(shape.all_of(Kind::accumulate),
                        [&](int id) { return shape.accumulation(id) == how; });
}

/// Returns the vector width: the elements that 16 bytes of the narrowest type hold, 2 to 8, and at most 4
/// where most accesses are of 4 bytes or more; 8 where Philox draws eight numbers. Halved while the loads of
/// a vector need too many registers.
int64_t GpuKernel::vector_width() const {
  if (sums_in_order()) {
    if (accesses.need_order())
      fail(
          "--same-bits: kernel {} sums rows which it also overwrites, element by element: leave "
          "--same-bits out",
          kernel.name);
    return std::min(kRandomNumbers, pow2_ceil(bound_or_large(kernel.axes[shape.inner].extent, symbols)));
  }
  if (shape.inner < 0 || accesses.need_order()) return 1;
  const bool random = accesses.draw_random();
  const int64_t narrowest = accesses.narrowest();
  if (narrowest == 0 && !random) return 1;
  int64_t wanted = random ? kRandomNumbers : std::clamp<int64_t>(kAccessBytes / narrowest, 2, 8);
  const int64_t most = schedule.flat ? kInFlight / 2 : 2 * kPayload;
  while (wanted > (schedule.flat ? 4 : 2) && wanted * accesses.loads() > most) wanted /= 2;
  if (wanted > 4 && !random && accesses.are_mostly_wide()) wanted = 4;
  if (random) return wanted;
  return stored_whole(std::min(wanted, pow2_ceil(bound_or_large(kernel.axes[shape.inner].extent, symbols))));
}

/// Returns the largest width up to `wanted` at which stores are fast: those of a vector are one access, or
/// whole warps of long rows store vectors that begin anywhere (Schedule::shifted), if there is so much to
/// store that this pays. Other elements are stored one by one, which should be those of adjacent lanes: then
/// a warp's stores fill whole sectors of memory.
int64_t GpuKernel::stored_whole(int64_t wanted) const {
  const auto is_ragged = [&](int id) {
    return shape.is_vector_access(id) &&
           vector_alignment(kernel, shape, id).when == VectorAlignment::When::never;
  };
  const auto has_pieces = [&](int id) {
    return wanted * size_of(kernel.params[kernel.instructions[id].access.param].dtype) % kAccessBytes == 0;
  };
  const int64_t row = bound_or_large(kernel.axes[shape.inner].extent, symbols);
  const bool large = !shape.is_reduced() && row >= kWarpsOfRow && row >= kManyElements / rows_at_bound();
  for (; wanted > 1; wanted /= 2) {
    schedule.vector_width = static_cast<int>(wanted);
    const std::vector<int> stores = shape.all_of(Kind::store);
    if (llvm::none_of(stores, is_ragged)) break;
    if (large && llvm::all_of(stores, has_pieces)) {
      schedule.shifted = true;
      break;
    }
    if (!shape.all_of(Kind::reduce).empty()) break;  // the width decides how long a thread's sums are
  }
  return wanted;
}

bool GpuKernel::sums_in_order() const {
  return kernel.in_order && !schedule.flat && shape.inner >= 0 && !shape.is_reduced() &&
         !shape.all_of(Kind::reduce).empty();
}

int64_t GpuKernel::in_flight() const {
  if (accesses.need_order()) return 1;
  const bool reduces = !shape.all_of(Kind::reduce).empty();
  const int64_t registers = schedule.flat && schedule.vector_width <= 4 ? kFlatInFlight
                            : reduces                                   ? kInFlight / 2
                                                                        : kInFlight;
  return std::clamp<int64_t>(registers / (accesses.loads() * schedule.vector_width), 1, 8);
}

void schedule_for_gpu(Kernel& kernel, const Symbols& symbols, const DeviceModel& device) {
  if (!choose_schedule(kernel, symbols, device))
    fail_with(Status::internal, "kernel {}: no registers for the values kept of its rows", kernel.name);
  if (!kernel.schedule.cached.empty()) return;
  Kernel keeping = kernel;
  if (!keep_columns(keeping)) return;
  number_by_blocks(keeping);
  if (choose_schedule(keeping, symbols, device)) kernel = std::move(keeping);
}

}  // namespace smelt
