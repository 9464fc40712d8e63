// Threads, shared memory, the grid and early loads of kernels that multiply (codegen/cuda/gemm/).
#include "codegen/cuda/gemm/gemm_text.h"
#include "codegen/cuda/gemm/print_gemm_body.h"
#include "codegen/kernel_passes/fast_forms.h"
#include "codegen/kernel_passes/index_bounds.h"
#include "codegen/kernel_passes/unrounded_stores.h"
#include "codegen/scheduling/schedule.h"
#include "codegen/scheduling/schedule_targets.h"

namespace smelt {

void schedule_gemm(Kernel& kernel, const Symbols& symbols, const Target& target) {
  GemmKernel& gemm = *kernel.gemm;
  Schedule& s = kernel.schedule;
  s.vector_width = kGemmVector, s.team = 1, s.vectors = 1;
  s.threads = gemm_threads();
  s.splits = gemm_sums(kernel).empty() ? 0 : partial_splits(target);
  s.index32 = has_32_bit_indices(kernel, symbols);
  gemm.most_blocks = target.device.multiprocessors / gemm.tiles.cluster * gemm.tiles.cluster;
  gemm.shared_bytes = gemm_shared_bytes(gemm.tiles, static_cast<int>(gemm_sums(kernel).size()));
  store_unrounded(kernel);
  choose_fast_forms(kernel);
  for (const int id : early_gemm_loads(kernel))
    kernel.instructions[static_cast<size_t>(id)].form = Form::early;
}

}  // namespace smelt
