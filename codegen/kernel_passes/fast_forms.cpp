#include "codegen/kernel_passes/fast_forms.h"

#include "ir/reduction_code.h"
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

}  // namespace

void choose_fast_forms(Kernel& kernel) {
  if (llvm::none_of(kernel.params, [](const KernelParam& p) { return is_16_bit(p.dtype); })) return;
  for (int id = 0; id < static_cast<int>(kernel.instructions.size()); ++id) {
    Instruction& x = kernel.instructions[id];
    if (x.kind == Kind::reduce && is_expensive(x.reduce_op)) x.form = Form::fast;
    if (x.kind != Kind::scalar || !is_float(x.dtype) || info(x.scalar_op).cuda_fast.empty()) continue;
    const bool tangent = !info(x.scalar_op).cuda_slope.empty() && !is_only_added_to_one(kernel, id);
    x.form = tangent ? Form::fast_tangent : Form::fast;
  }
}

}  // namespace smelt
