#include "codegen/kernel_passes/kernel_passes.h"

#include "codegen/kernel_passes/kernel_shape.h"

namespace smelt {
namespace {

using Kind = Instruction::Kind;

bool chooses_or_zero(const Kernel& kernel, int id) {
  const Instruction& x = kernel.instructions[id];
  if (x.kind != Kind::scalar || x.scalar_op != ScalarOp::select) return false;
  const Instruction& otherwise = kernel.instructions[x.operands[2]];
  return otherwise.kind == Kind::constant && otherwise.number == 0;
}

}  // namespace

void sum_where_chosen(Kernel& kernel) {
  const KernelShape shape(kernel);
  for (const int id : shape.all_of(Kind::reduce)) {
    Instruction& sum = kernel.instructions[id];
    const int summand = sum.operands[0];
    if (sum.reduce_op != ReduceOp::add || sum.predicate >= 0 || !chooses_or_zero(kernel, summand) ||
        shape.block_of(summand) != shape.block_of(id))
      continue;
    sum.predicate = kernel.instructions[summand].operands[0];
    sum.operands = {kernel.instructions[summand].operands[1]};
  }
}

}  // namespace smelt
