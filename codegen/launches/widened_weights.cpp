#include "codegen/launches/join_steps.h"

#include "llvm/ADT/STLExtras.h"

namespace smelt {
namespace {

using Kind = Instruction::Kind;

/// One load and one store, with nothing but conversions between them.
bool only_converts(const Kernel& kernel) {
  const auto count = [&](Kind kind) {
    return llvm::count_if(kernel.instructions, [&](const Instruction& x) { return x.kind == kind; });
  };
  return kernel.params.size() == 2 && kernel.copies == 1 && count(Kind::load) == 1 &&
         count(Kind::store) == 1 && llvm::all_of(kernel.instructions, [](const Instruction& x) {
           return x.kind == Kind::load || x.kind == Kind::store ||
                  (x.kind == Kind::convert && x.operands.size() == 1);
         });
}

const Access& access_of(const Kernel& kernel, Kind kind) {
  return llvm::find_if(kernel.instructions, [&](const Instruction& x) { return x.kind == kind; })->access;
}

/// Returns whether the axes iterate over contiguous elements in order.
bool is_dense(const Kernel& kernel, const Access& access) {
  Dim stride = 1;
  for (size_t i = kernel.axes.size(); i-- > 0;) {
    if (!kernel.axes[i].extent.is_one() && access.strides[i] != stride) return false;
    stride *= kernel.axes[i].extent;
  }
  return access.computed < 0;
}

}  // namespace

std::optional<BufferRef> widened_bytes(const Program& program, const Step& step, const BufferRef& floats) {
  const auto* launch = std::get_if<KernelStep>(&step.what);
  if (!launch || step.choice >= 0) return std::nullopt;
  const Kernel& kernel = program.kernels[static_cast<size_t>(launch->kernel)];
  if (kernel.has_template() || !only_converts(kernel)) return std::nullopt;
  const Access &from = access_of(kernel, Kind::load), &to = access_of(kernel, Kind::store);
  const auto argument = [&](const Access& access) {
    return launch->arguments[static_cast<size_t>(access.param)];
  };
  const bool bytes = kernel.params[static_cast<size_t>(from.param)].dtype == DType::i8;
  if (!bytes || !is_dense(kernel, from) || !is_dense(kernel, to) || argument(to).buffer != floats.buffer)
    return std::nullopt;
  return BufferRef{argument(from).buffer,
                   argument(from).offset + from.offset + floats.offset - argument(to).offset - to.offset};
}

}  // namespace smelt
