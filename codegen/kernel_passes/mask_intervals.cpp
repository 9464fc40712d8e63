#include "codegen/kernel_passes/mask_intervals.h"

#include <limits>

namespace smelt {
namespace {

bool is_minus_infinity(const Instruction& x) {
  return x.kind == Instruction::Kind::constant && x.number == -std::numeric_limits<double>::infinity();
}

}  // namespace

ScoreMask score_mask(const Kernel& kernel) {
  const auto instruction = [&](int id) -> const Instruction& {
    return kernel.instructions[static_cast<size_t>(id)];
  };
  const Instruction& x = instruction(kernel.attention->returned[0]);
  const bool masks = x.kind == Instruction::Kind::scalar && x.scalar_op == ScalarOp::select &&
                     is_minus_infinity(instruction(x.operands[2]));
  return masks ? ScoreMask{x.operands[0], x.operands[1]} : ScoreMask{};
}

}  // namespace smelt
