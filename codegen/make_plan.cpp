#include "codegen/make_plan.h"

#include <fmt/ranges.h>

#include "codegen/code_generator.h"
#include "codegen/cuda/attention/wgmma_kernel.h"
#include "codegen/cuda/byte_gemm/emit_byte_gemm.h"
#include "codegen/cuda/gemm/emit_gemm.h"
#include "codegen/kernel_parameters.h"
#include "codegen/kernel_passes/kernel_indices.h"
#include "runtime/base/error.h"

namespace smelt {

KernelCode describe_kernel(const Kernel& kernel) {
  KernelCode code = {.name = kernel.name,
                     .text = print(kernel),
                     .dims = launch_dims(kernel),
                     .range = kernel.range(),
                     .grain = kernel.schedule.grain,
                     .splits = kernel.schedule.splits,
                     .random_ids = kernel.random_slots,
                     .threads = kernel.threads(),
                     .shared_bytes = kernel.attention ? kernel.attention->shared_bytes : 0,
                     .copies = kernel.copies,
                     .waits = kernel.waits};
  if (!kernel.beside.empty()) code.range = kernel.grid(), code.grain = 1;
  if (kernel.attention && kernel.attention->wgmma()) {
    code.most_blocks = kernel.attention->most_blocks;
    code.maps = attention_maps(kernel);
    code.only_capability = kWgmmaCapability;
  }
  if (kernel.gemm) {
    code.splits = 0;  // of the partial sums alone: blocks take tiles
    code.shared_bytes = kernel.gemm->shared_bytes;
    code.most_blocks = kernel.gemm->most_blocks;
  }
  if (kernel.gemm && kernel.gemm->is_wgmma()) {
    code.maps = kernel.gemm->is_byte_gemm() ? byte_gemm_maps(kernel) : gemm_maps(kernel);
    code.only_capability = kGemmCapability;
  }
  if (kernel.attention && kernel.attention->blocked())
    code.attention = {
        *kernel.attention,        *kernel.attention->blocked(),          kernel.attention->workspace,
        kernel.attention->places, kernel.attention->places_batch_stride, kernel.attention->places_stride};
  describe_parameters(kernel, code);
  return code;
}

Plan plan_without_code(const Program& program) {
  Plan plan;
  plan.model = program.description;
  plan.symbols = program.symbols;
  plan.mesh = program.mesh;
  plan.states = program.states;
  plan.buffers = program.buffers;
  plan.entries = program.entries;
  for (const Kernel& kernel : program.kernels) plan.kernels.push_back(describe_kernel(kernel));
  return plan;
}

void verify_code(const Program& program, const Target& target) {
  std::vector<std::string> faults;
  for (const Kernel& kernel : program.kernels)
    for (std::string& fault : code_generator(target).verify(kernel)) faults.push_back(std::move(fault));
  if (!faults.empty())
    fail_with(Status::internal, "the code of the program is not valid:\n{}", fmt::join(faults, "\n"));
}

Plan make_plan(Program& program, const Target& target) {
  return code_generator(target).make_plan(program, target);
}

}  // namespace smelt
