#include "codegen/lowering/fusion_aliases.h"

#include "llvm/ADT/STLExtras.h"

namespace smelt {
namespace {

using Kind = Instruction::Kind;

bool is_store_to(const Instruction& x, int param) { return x.kind == Kind::store && x.access.param == param; }

/// Where the kernel stores the elements of an output.
Access place_of(const Kernel& kernel, int output) {
  Access place;
  for (const KernelBlock& block : kernel.blocks)
    for (int number : block.instructions)
      if (const Instruction& x = kernel.instructions[number]; is_store_to(x, output)) place = x.access;
  return place;
}

/// Column 0 of the row that is stored.
bool reads_own_row(const Kernel& kernel, const Access& read, const Access& place) {
  for (size_t i = 0; i < kernel.axes.size(); ++i) {
    const bool parallel = kernel.axes[i].kind == AxisKind::parallel;
    if (parallel ? read.strides[i] != place.strides[i] : !read.strides[i].is_zero()) return false;
  }
  return read.computed < 0;
}

/// One element for all columns: every thread of the row reads it, one writes it.
bool is_of_row(const Kernel& kernel, const Access& access) {
  bool columns = false;
  for (size_t i = 0; i < kernel.axes.size(); ++i) {
    if (kernel.axes[i].kind == AxisKind::parallel) continue;
    if (!access.strides[i].is_zero()) return false;
    columns = true;
  }
  return columns;
}

bool reads_before_it_writes(const Kernel& kernel, int input, int output) {
  const Access place = place_of(kernel, output);
  if (input < 0 || place.computed >= 0) return false;
  const bool of_row = is_of_row(kernel, place);
  bool written = false, others_may_read = false;
  for (const KernelBlock& block : kernel.blocks)
    for (int number : block.instructions) {
      const Instruction& x = kernel.instructions[number];
      written |= is_store_to(x, output);
      // The threads of a row have met behind a reduction. Before columns are stored they wait for each other
      // (codegen/kernel_passes/row_barriers.h).
      if (x.kind == Kind::reduce) others_may_read = false;
      if (written && of_row && others_may_read) return false;
      if (x.kind != Kind::load || x.access.param != input) continue;
      others_may_read = true;
      const bool same_place = x.access.strides == place.strides && x.access.computed < 0;
      // Row code may read column 0 of its own row before any column of it is written.
      const bool own_row = block.scope == KernelBlock::Scope::row && reads_own_row(kernel, x.access, place);
      if (written || !(same_place || own_row)) return false;
    }
  return true;
}

bool can_alias(const FusionKernel& fusion, const FusionStore& store, const Value& operand, int param) {
  const Value& result = *store.result;
  const Layout &from = *operand.layout, &to = *result.layout;
  return operand.dtype() == result.dtype() && operand.shape() == result.shape() &&
         from.strides == to.strides && from.offset == to.offset &&
         reads_before_it_writes(fusion.kernel, param, store.param);
}

}  // namespace

std::vector<std::pair<int, int>> aliases_of(const FusionKernel& fusion) {
  std::vector<std::pair<int, int>> pairs;
  for (const FusionStore& store : fusion.stores)
    for (auto [input, operand] : llvm::zip(fusion.body().inputs(), fusion.fusion().operands()))
      if (can_alias(fusion, store, *operand, fusion.param_of(*input->result())))
        pairs.push_back({store.result->layout->buffer, operand->layout->buffer});
  return pairs;
}

}  // namespace smelt
