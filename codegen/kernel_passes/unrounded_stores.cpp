#include "codegen/kernel_passes/kernel_passes.h"

#include "codegen/kernel_passes/kernel_shape.h"

namespace smelt {
namespace {

using Kind = Instruction::Kind;

/// Values of column blocks are visible to their own block alone.
bool is_visible(const Kernel& kernel, const KernelShape& shape, int value, int block) {
  const int home = shape.block_of(value);
  return home == block || (home >= 0 && kernel.blocks[home].scope == KernelBlock::Scope::row);
}

}  // namespace

void store_unrounded(Kernel& kernel) {
  const KernelShape shape(kernel);
  for (const int id : shape.all_of(Kind::store)) {
    Instruction& store = kernel.instructions[id];
    const Instruction& value = kernel.instructions[store.operands[0]];
    const bool rounds_alike = value.kind == Kind::convert && value.operands.size() == 1 &&
                              value.dtype == kernel.params[store.access.param].dtype;
    if (rounds_alike && shape.block_of(store.operands[0]) == shape.block_of(value.operands[0]) &&
        is_visible(kernel, shape, value.operands[0], shape.block_of(id)))
      store.operands[0] = value.operands[0];
  }
}

}  // namespace smelt
