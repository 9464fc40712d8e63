#include "codegen/schedule.h"

#include <algorithm>

#include "codegen/kept_exponentials.h"
#include "llvm/ADT/STLExtras.h"

namespace smelt {
namespace {

/// Elements of work a chunk should hold, so that launching it costs nothing beside it.
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

int64_t tile(const Kernel& kernel) {
  const bool reduced = llvm::any_of(kernel.axes, [](const auto& a) { return a.kind == AxisKind::reduced; });
  if (reduced) return kReducedTile;
  return has_exponentials(kernel) ? kExponentialTile : kTile;
}

bool is_row_reduction(const Kernel& kernel) {
  for (const KernelBlock& block : kernel.blocks)
    for (int number : block.instructions) {
      const Instruction& i = kernel.instructions[number];
      if (i.kind == Instruction::Kind::reduce && block.scope == KernelBlock::Scope::column) return true;
    }
  return false;
}

int count(const Kernel& kernel, AxisKind kind) {
  return static_cast<int>(
      llvm::count_if(kernel.axes, [&](const KernelAxis& axis) { return axis.kind == kind; }));
}

bool has_partials(const Kernel& kernel) {
  return llvm::any_of(kernel.params, [](const KernelParam& param) { return param.partial; });
}

/// A row reduction whose result only goes into partial sums: over a chunk of a flat range it is one more
/// partial sum.
bool reduces_to_partials(const Kernel& kernel) {
  std::vector<bool> reduced(kernel.instructions.size()), fine(kernel.instructions.size(), true);
  for (size_t i = 0; i < kernel.instructions.size(); ++i) {
    const Instruction& instruction = kernel.instructions[i];
    if (instruction.kind == Instruction::Kind::reduce) reduced[i] = true;
    for (int operand : instruction.operands)
      if (reduced[operand] && instruction.kind != Instruction::Kind::accumulate) return false;
  }
  return true;
}

bool stores_row_scalars(const Kernel& kernel) {
  return llvm::any_of(kernel.instructions, [](const Instruction& i) {
    return i.kind == Instruction::Kind::store &&
           llvm::all_of(i.access.strides, [](const Dim& stride) { return stride.is_zero(); });
  });
}

/// The parallel range is the one column axis: nothing needs a whole row in one place.
bool can_be_flat(const Kernel& kernel) {
  if (count(kernel, AxisKind::parallel) || count(kernel, AxisKind::reduced) ||
      count(kernel, AxisKind::column) != 1)
    return false;
  if (stores_row_scalars(kernel)) return false;
  return !is_row_reduction(kernel) || reduces_to_partials(kernel);
}

int64_t columns_at_bound(const Kernel& kernel, const Symbols& symbols) {
  Dim columns = 1;
  for (const KernelAxis& axis : kernel.axes)
    if (axis.kind != AxisKind::parallel) columns *= axis.extent;
  return std::max<int64_t>(1, symbols.upper(columns));
}

}  // namespace

void schedule(Kernel& kernel, const Symbols& symbols) {
  Schedule& s = kernel.schedule;
  s.tile = tile(kernel);
  s.flat = can_be_flat(kernel);
  s.splits = has_partials(kernel) ? kSplits : 0;
  s.grain = s.flat ? kChunkElements
                   : std::clamp<int64_t>(kChunkElements / columns_at_bound(kernel, symbols), 1, 4096);
  s.keep_exponentials =
      !s.flat && columns_at_bound(kernel, symbols) <= kLongestKeptRow && !kept_exponentials(kernel).empty();
  const bool scratch = s.keep_exponentials || !s.cached.empty();
  s.cached_elements = scratch ? columns_at_bound(kernel, symbols) : 0;
  llvm::sort(s.cached);
  s.cached.erase(std::unique(s.cached.begin(), s.cached.end()), s.cached.end());
}

}  // namespace smelt
