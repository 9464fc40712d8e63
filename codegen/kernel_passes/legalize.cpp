#include "codegen/kernel_passes/kernel_passes.h"

namespace smelt {
namespace {

/// Removes the results of the GPU passes that depend on the schedule; the other passes find nothing to do in
/// a second run.
void forget_decisions(Kernel& kernel) {
  for (Instruction& x : kernel.instructions) {
    x.form = Form::plain;
    x.exchange_round = x.exchange_columns = 0;
  }
  for (KernelBlock& block : kernel.blocks) block.after_barrier = block.loads_first = false;
}

}  // namespace

void legalize_for_gpu(Kernel& kernel) {
  forget_decisions(kernel);
#define SMELT_KERNEL_PASS(name, function, kind, description) \
  if constexpr (KernelPassKind::kind == KernelPassKind::gpu) function(kernel);
#include "codegen/kernel_passes/kernel_passes.def"
  for (Kernel& other : kernel.beside) legalize_for_gpu(other);
  for (Kernel& last : kernel.tail) legalize_for_gpu(last);
}

}  // namespace smelt
