#include "codegen/kernel_passes/kernel_passes.h"

#include "ir/kernel/reduction_code.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"

namespace smelt {
namespace {

using Kind = Instruction::Kind;

bool is_16_bit(DType type) { return type == DType::bf16 || type == DType::f16; }

bool is_only_added_to_one(const Kernel& kernel, int id) {
  const auto is_one = [&](int other) {
    return kernel.instructions[other].kind == Kind::constant && kernel.instructions[other].number == 1;
  };
  return llvm::all_of(kernel.instructions, [&](const Instruction& user) {
    if (user.predicate != id && !llvm::is_contained(user.operands, id)) return true;
    return user.kind == Kind::scalar && user.scalar_op == ScalarOp::add &&
           llvm::any_of(user.operands, is_one);
  });
}

bool writes_all_digits(const Kernel& kernel, const Instruction& x) {
  return (x.kind == Kind::store || x.kind == Kind::accumulate) &&
         !is_16_bit(kernel.params[x.access.param].dtype);
}

/// Returns the values on which data in memory of types other than bf16 and f16 depends, unless the data is
/// rounded to these types first.
llvm::BitVector seen_with_all_digits(const Kernel& kernel) {
  llvm::BitVector seen(static_cast<unsigned>(kernel.instructions.size()));
  for (int id = static_cast<int>(kernel.instructions.size()); id-- > 0;) {
    const Instruction& x = kernel.instructions[id];
    if (writes_all_digits(kernel, x)) seen.set(id);
    if (!seen.test(id) || (x.kind == Kind::convert && is_16_bit(x.dtype))) continue;
    for (const int operand : x.operands) seen.set(operand);
    for (const int other : {x.predicate, x.access.computed})
      if (other >= 0) seen.set(other);
  }
  return seen;
}

}  // namespace

void choose_fast_forms(Kernel& kernel) {
  if (kernel.in_order) return;
  if (llvm::none_of(kernel.params, [](const KernelParam& p) { return is_16_bit(p.dtype); })) return;
  const llvm::BitVector seen = seen_with_all_digits(kernel);
  for (int id = 0; id < static_cast<int>(kernel.instructions.size()); ++id) {
    Instruction& x = kernel.instructions[id];
    if (x.kind == Kind::reduce && is_expensive(x.reduce_op)) x.form = Form::fast;
    if (x.kind != Kind::scalar || !is_float(x.dtype) || info(x.scalar_op).cuda_fast.empty()) continue;
    if (seen.test(id)) continue;
    const bool tangent = !info(x.scalar_op).cuda_slope.empty() && !is_only_added_to_one(kernel, id);
    x.form = tangent ? Form::fast_tangent : Form::fast;
  }
}

}  // namespace smelt
