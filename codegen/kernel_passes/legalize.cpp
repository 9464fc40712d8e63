#include "codegen/kernel_passes/legalize.h"

#include "codegen/kernel_passes/kernel_pass_registry.h"

namespace smelt {
namespace {

/// Of the passes for a GPU that depend on the schedule; the others find nothing left to do a second time.
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
  for (const KernelPass& pass : all_kernel_passes())
    if (pass.kind == KernelPassKind::gpu) pass.run(kernel);
  for (Kernel& other : kernel.beside) legalize_for_gpu(other);
  for (Kernel& last : kernel.tail) legalize_for_gpu(last);
}

}  // namespace smelt
