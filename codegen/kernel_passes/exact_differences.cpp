#include "codegen/kernel_passes/kernel_passes.h"

#include <algorithm>

namespace smelt {
namespace {

using Kind = Instruction::Kind;

bool is_row_statistic(const Kernel& kernel, const KernelShape& shape, int id) {
  constexpr Kind kStored[] = {Kind::load, Kind::reduce, Kind::result};
  return std::ranges::find(kStored, kernel.instructions[id].kind) != std::end(kStored) &&
         !shape.moves(id, shape.inner);
}

bool is_product(const Kernel& kernel, const KernelShape& shape, int id) {
  const Instruction& x = kernel.instructions[id];
  return x.kind == Kind::scalar && x.scalar_op == ScalarOp::mul && shape.moves(id, shape.inner);
}

}  // namespace

bool subtracts_statistic(const Kernel& kernel, const KernelShape& shape, int id) {
  const Instruction& x = kernel.instructions[id];
  if (x.kind != Kind::scalar || x.scalar_op != ScalarOp::sub || x.dtype != DType::f32) return false;
  const auto pairs = [&](int product, int statistic) {
    return is_product(kernel, shape, product) && is_row_statistic(kernel, shape, statistic);
  };
  return pairs(x.operands[0], x.operands[1]) || pairs(x.operands[1], x.operands[0]);
}

}  // namespace smelt
