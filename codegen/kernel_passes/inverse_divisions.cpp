#include "codegen/kernel_passes/kernel_passes.h"

#include "codegen/kernel_passes/kernel_shape.h"

namespace smelt {
namespace {

using Kind = Instruction::Kind;

bool is_sum_of_exponentials(const Kernel& kernel, int id) {
  const Instruction& x = kernel.instructions[id];
  return x.kind == Kind::result && x.slot == 1 &&
         kernel.instructions[x.operands[0]].reduce_op == ReduceOp::max_sumexp;
}

bool divides_by_row_scalar(const Kernel& kernel, const KernelShape& shape, int id) {
  const Instruction& x = kernel.instructions[id];
  if (x.kind != Kind::scalar || x.scalar_op != ScalarOp::div || shape.block_of(id) < 0) return false;
  if (kernel.blocks[shape.block_of(id)].scope != KernelBlock::Scope::column) return false;
  const bool real = is_float(kernel.instructions[x.operands[0]].dtype) &&
                    is_float(kernel.instructions[x.operands[1]].dtype);
  return real && shape.moves(id, shape.inner) && !shape.moves(x.operands[1], shape.inner);
}

}  // namespace

void divide_by_inverses(Kernel& kernel) {
  const KernelShape shape(kernel);
  if (shape.is_reduced() || kernel.in_order) return;
  for (int id = 0; id < static_cast<int>(kernel.instructions.size()); ++id) {
    Instruction& x = kernel.instructions[id];
    if (divides_by_row_scalar(kernel, shape, id))
      x.form = is_sum_of_exponentials(kernel, x.operands[1]) ? Form::inverse : Form::scaled_inverse;
  }
}

}  // namespace smelt
