#include "codegen/kernel_passes/kernel_passes.h"

#include "llvm/ADT/STLExtras.h"

namespace smelt {
namespace {

bool is_one_walk(const std::vector<Dim>& strides, size_t outer, const Dim& inner_extent) {
  return strides.empty() || strides[outer] == strides[outer + 1] * inner_extent;
}

bool names(int axis, size_t outer) {
  return axis == static_cast<int>(outer) || axis == static_cast<int>(outer) + 1;
}

bool can_join(const Kernel& kernel, size_t outer) {
  const KernelAxis &a = kernel.axes[outer], &b = kernel.axes[outer + 1];
  if (a.kind != b.kind || a.kind == AxisKind::column) return false;
  if (a.begin >= 0 || a.end >= 0 || b.begin >= 0 || b.end >= 0) return false;
  return llvm::all_of(kernel.instructions, [&](const Instruction& x) {
    return is_one_walk(x.access.strides, outer, b.extent) && is_one_walk(x.random_strides, outer, b.extent) &&
           !(x.kind == Instruction::Kind::index && names(x.axis, outer)) && !names(x.random_axis, outer);
  });
}

void join(Kernel& kernel, size_t outer) {
  kernel.axes[outer + 1].extent = kernel.axes[outer].extent * kernel.axes[outer + 1].extent;
  const auto drop = [&](std::vector<Dim>& strides) {
    if (!strides.empty()) strides.erase(strides.begin() + static_cast<std::ptrdiff_t>(outer));
  };
  const auto renumber = [&](int& axis) { axis -= axis > static_cast<int>(outer); };
  for (Instruction& x : kernel.instructions) {
    drop(x.access.strides), drop(x.random_strides);
    renumber(x.axis), renumber(x.random_axis);
  }
  kernel.axes.erase(kernel.axes.begin() + static_cast<std::ptrdiff_t>(outer));
}

}  // namespace

void collapse_axes(Kernel& kernel) {
  for (size_t outer = 0; outer + 1 < kernel.axes.size();) {
    if (can_join(kernel, outer))
      join(kernel, outer);
    else
      ++outer;
  }
}

}  // namespace smelt
