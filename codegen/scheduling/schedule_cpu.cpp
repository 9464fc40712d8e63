// Schedules for a CPU: chunks worth a thread's while, tiles that stay in its caches.
#include <algorithm>
#include <limits>

#include "codegen/kernel_passes/kernel_passes.h"
#include "codegen/scheduling/schedule_kernels.h"
#include "llvm/ADT/STLExtras.h"

namespace smelt {
namespace {

/// The least elements of work per chunk, so that the launch of a chunk costs little in comparison.
constexpr int64_t kChunkElements = 16384;
constexpr int64_t kTile = 512;
/// Every tile of max_sumexp waits once for its maximum.
constexpr int64_t kExponentialTile = 2048;
/// Column accumulators: wide tiles for long rows of memory, narrow ones for parallelism.
constexpr int64_t kReducedTile = 256;
/// 256 KiB of exponentials: they stay in a core's second-level cache, and on any thread's stack.
constexpr int64_t kLongestKeptRow = 65536;

bool has_exponentials(const Kernel& kernel) {
  return llvm::any_of(kernel.instructions, [](const Instruction& i) {
    return i.kind == Instruction::Kind::reduce && i.reduce_op == ReduceOp::max_sumexp;
  });
}

/// A polynomial is a chain: while one vector waits for its last operation, a core needs others. Four go in
/// step, which makes a gelu in cache 1.4 times as fast. Sums keep their width, and with it their order.
int vector_width(const Kernel& kernel) {
  const bool chains = llvm::any_of(kernel.instructions, [](const Instruction& i) {
    return i.kind == Instruction::Kind::scalar && info(i.scalar_op).expensive;
  });
  const bool sums = llvm::any_of(kernel.instructions, [](const Instruction& i) {
    return i.kind == Instruction::Kind::reduce || i.kind == Instruction::Kind::accumulate;
  });
  return chains && !sums ? 64 : 16;
}

int64_t tile(const Kernel& kernel) {
  if (count_axes(kernel, AxisKind::reduced) > 0) return kReducedTile;
  return has_exponentials(kernel) ? kExponentialTile : kTile;
}

int64_t columns_at_bound(const Kernel& kernel, const Symbols& symbols) {
  Dim columns = 1;
  for (const KernelAxis& axis : kernel.axes)
    if (axis.kind != AxisKind::parallel) columns *= axis.extent;
  return std::max<int64_t>(1, symbols.upper(columns));
}

}  // namespace

void schedule_for_cpu(Kernel& kernel, const Symbols& symbols) {
  Schedule& s = kernel.schedule;
  s.vector_width = vector_width(kernel);
  s.tile = tile(kernel);
  s.flat = can_be_flat(kernel);
  s.grain = s.flat ? kChunkElements
                   : std::clamp<int64_t>(kChunkElements / columns_at_bound(kernel, symbols), 1, 4096);
  const bool keeps = !s.flat && columns_at_bound(kernel, symbols) <= kLongestKeptRow &&
                     keep_exponentials(kernel, std::numeric_limits<int64_t>::max());
  const bool scratch = keeps || !s.cached.empty();
  s.cached_elements = scratch ? columns_at_bound(kernel, symbols) : 0;
  if (kernel.attention) s.grain = 1;
}

}  // namespace smelt
