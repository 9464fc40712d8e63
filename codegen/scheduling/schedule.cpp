#include "codegen/scheduling/schedule.h"

#include "codegen/code_generator.h"
#include "codegen/kernel_passes/kernel_passes.h"
#include "codegen/scheduling/schedule_kernels.h"
#include "llvm/ADT/STLExtras.h"

namespace smelt {
namespace {

/// Chunks of a kernel with partial sums: on a CPU a number for all machines, on a GPU blocks that a
/// multiprocessor holds at once.
constexpr int64_t kCpuSplits = 32, kSplitsPerMultiprocessor = 2;

bool is_row_reduction(const Kernel& kernel) {
  for (const KernelBlock& block : kernel.blocks)
    for (int number : block.instructions) {
      const Instruction& i = kernel.instructions[number];
      if (i.kind == Instruction::Kind::reduce && block.scope == KernelBlock::Scope::column) return true;
    }
  return false;
}

/// A row reduction whose result only goes into partial sums: over a chunk of a flat range it is one more
/// partial sum.
bool reduces_to_partials(const Kernel& kernel) {
  std::vector<bool> reduced(kernel.instructions.size());
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

}  // namespace

int count_axes(const Kernel& kernel, AxisKind kind) {
  return static_cast<int>(
      llvm::count_if(kernel.axes, [&](const KernelAxis& axis) { return axis.kind == kind; }));
}

bool has_partials(const Kernel& kernel) {
  return llvm::any_of(kernel.params, [](const KernelParam& param) { return param.partial; });
}

bool can_be_flat(const Kernel& kernel) {
  if (count_axes(kernel, AxisKind::parallel) || count_axes(kernel, AxisKind::reduced) ||
      count_axes(kernel, AxisKind::column) != 1)
    return false;
  if (stores_row_scalars(kernel) || kernel.row_predicate >= 0) return false;
  return !is_row_reduction(kernel) || reduces_to_partials(kernel);
}

int64_t partial_splits(const Target& target) {
  return target.can.launches ? kSplitsPerMultiprocessor * target.device.multiprocessors : kCpuSplits;
}

int64_t partial_sum_rows(const Kernel& kernel, const Symbols& symbols) {
  Dim rows = 1;
  for (const KernelAxis& axis : kernel.axes)
    if (axis.kind == AxisKind::parallel) rows *= axis.extent;
  return symbols.upper(rows) > kShortSumTerms * kCpuSplits ? kShortSumTerms : 0;
}

void choose_schedule(Kernel& kernel, const Symbols& symbols, const Target& target) {
  kernel.in_order = target.same_bits;
  if (!kernel.has_template()) kernel.schedule.splits = has_partials(kernel) ? partial_splits(target) : 0;
  code_generator(target).schedule(kernel, symbols, target);
}

void schedule(Kernel& kernel, const Symbols& symbols, const Target& target) {
  choose_schedule(kernel, symbols, target);
  if (target.can.launches && !kernel.has_template()) legalize_for_gpu(kernel);
}

}  // namespace smelt
