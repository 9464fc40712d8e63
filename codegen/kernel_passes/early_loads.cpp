#include "codegen/kernel_passes/kernel_passes.h"

#include <utility>

namespace smelt {
namespace {

constexpr int64_t kMostRegisters = 32;

}  // namespace

void issue_loads_early(Kernel& kernel) {
  const Schedule& s = kernel.schedule;
  const KernelShape shape(kernel);
  if (shape.is_reduced() || s.flat || s.vectors == 0 || s.unroll < s.vectors) return;
  const bool one_row = s.team == s.threads && s.splits == 0;
  int64_t registers = 0;
  bool first = true;
  for (const KernelBlock& block : kernel.blocks) {
    if (block.scope != KernelBlock::Scope::column || std::exchange(first, false)) continue;
    for (int id : block.instructions) {
      Instruction& x = kernel.instructions[id];
      if (x.form != Form::plain || !can_be_early(kernel, shape, id)) continue;
      if (!one_row && !can_be_prefetched(kernel, shape, id)) continue;
      const int64_t own = vector_bytes(kernel, id) * s.vectors / 4;
      if (registers + own > kMostRegisters) continue;
      registers += own;
      x.form = Form::early;
    }
  }
}

}  // namespace smelt
