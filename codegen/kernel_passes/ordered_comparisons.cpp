#include "codegen/kernel_passes/kernel_passes.h"

#include <utility>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"

namespace smelt {
namespace {

using Kind = Instruction::Kind;

constexpr int kMostDepth = 8;

/// Returns whether the value is certainly not negative, or NaN.
bool is_non_negative(const Kernel& kernel, int id, int depth = 0) {
  const Instruction& x = kernel.instructions[id];
  if (x.kind == Kind::constant) return x.number >= 0;
  if (x.kind == Kind::convert) return depth < kMostDepth && is_non_negative(kernel, x.operands[0], depth + 1);
  if (x.kind != Kind::scalar || depth == kMostDepth) return false;
  const ScalarOpInfo& row = info(x.scalar_op);
  const auto is = [&](int operand) { return is_non_negative(kernel, operand, depth + 1); };
  switch (row.non_negative) {
    case NonNegative::unknown:
      return false;
    case NonNegative::always:
      return true;
    case NonNegative::if_all:
      return llvm::all_of(llvm::ArrayRef(x.operands).drop_front(row.domain == Domain::choice ? 1 : 0), is);
    case NonNegative::if_any:
      return llvm::any_of(x.operands, is);
    case NonNegative::if_product:
      return x.operands[0] == x.operands[1] || llvm::all_of(x.operands, is);
  }
  return false;
}

bool is_non_positive(const Kernel& kernel, int id) {
  const Instruction& x = kernel.instructions[id];
  if (x.kind == Kind::constant) return x.number <= 0;
  return x.kind == Kind::scalar && x.scalar_op == ScalarOp::neg && is_non_negative(kernel, x.operands[0]);
}

/// Returns whether `a op b` holds for all numbers that `a` can be; `b` is a constant.
bool holds_for_numbers(const Kernel& kernel, ScalarOp op, int a, double b) {
  if (op == ScalarOp::ge) return b <= 0 && is_non_negative(kernel, a);
  if (op == ScalarOp::gt) return b < 0 && is_non_negative(kernel, a);
  if (op == ScalarOp::le) return b >= 0 && is_non_positive(kernel, a);
  return op == ScalarOp::lt && b > 0 && is_non_positive(kernel, a);
}

/// The operand that decides a comparison by being NaN or not; -1: more decides it.
int deciding_operand(const Kernel& kernel, const Instruction& x) {
  if (x.kind != Kind::scalar || !info(x.scalar_op).swapped) return -1;
  int a = x.operands[0], b = x.operands[1];
  ScalarOp op = x.scalar_op;
  if (kernel.instructions[a].kind == Kind::constant) std::swap(a, b), op = *info(op).swapped;
  const Instruction& constant = kernel.instructions[b];
  if (constant.kind != Kind::constant || !is_float(kernel.instructions[a].dtype)) return -1;
  return holds_for_numbers(kernel, op, a, constant.number) ? a : -1;
}

}  // namespace

void order_comparisons(Kernel& kernel) {
  for (Instruction& x : kernel.instructions) {
    const int operand = deciding_operand(kernel, x);
    if (operand < 0) continue;
    x.scalar_op = ScalarOp::eq, x.operands = {operand, operand};
  }
}

}  // namespace smelt
