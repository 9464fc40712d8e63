#include "codegen/kernel_passes/legalize.h"

#include "codegen/kernel_passes/conditional_sums.h"
#include "codegen/kernel_passes/early_loads.h"
#include "codegen/kernel_passes/fast_forms.h"
#include "codegen/kernel_passes/inverse_divisions.h"
#include "codegen/kernel_passes/keep_exponentials.h"
#include "codegen/kernel_passes/loads_first.h"
#include "codegen/kernel_passes/prefetch_rows.h"
#include "codegen/kernel_passes/row_barriers.h"

namespace smelt {
namespace {

void forget_decisions(Kernel& kernel) {
  for (Instruction& x : kernel.instructions) x.form = Form::plain;
  for (KernelBlock& block : kernel.blocks) block.after_barrier = block.loads_first = false;
}

constexpr KernelPass kPasses[] = {
    {"conditional_sums", "sums of select(p, x, 0) leave the zeros out", sum_where_chosen},
    {"fast_forms", "short forms of functions beside 16-bit memory", choose_fast_forms},
    {"inverse_divisions", "rows divided by one number are multiplied by its inverse", divide_by_inverses},
    {"keep_exponentials", "a softmax scales the exponentials of its sum", keep_exponentials_in_registers},
    {"prefetch_rows", "the next rows of a walk are on their way", prefetch_rows},
    {"early_loads", "loads of later blocks set out before the first", send_loads_early},
    {"loads_first", "loads of several reduced indices stand before their work", put_loads_first},
    {"row_barriers", "all threads have read a row before one overwrites it", insert_row_barriers},
};

}  // namespace

std::span<const KernelPass> gpu_kernel_passes() { return kPasses; }

void legalize_for_gpu(Kernel& kernel) {
  forget_decisions(kernel);
  for (const KernelPass& pass : kPasses) pass.run(kernel);
  for (Kernel& last : kernel.tail) legalize_for_gpu(last);
}

}  // namespace smelt
