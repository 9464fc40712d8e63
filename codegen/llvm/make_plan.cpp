#include "codegen/make_plan.h"

#include "codegen/llvm/emit_llvm.h"

namespace smelt {
namespace {

KernelCode describe(const Kernel& kernel) {
  return {.name = kernel.name,
          .text = print(kernel),
          .dims = launch_dims(kernel),
          .range = kernel.range(),
          .grain = kernel.schedule.grain,
          .splits = kernel.schedule.splits};
}

}  // namespace

Plan make_plan(const Program& program) {
  const CpuTarget target = CpuTarget::host();
  Plan plan;
  plan.target = target.str();
  plan.model = program.description;
  plan.symbols = program.symbols;
  plan.states = program.states;
  plan.buffers = program.buffers;
  plan.entries = program.entries;
  std::vector<const Kernel*> kernels;
  for (const Kernel& kernel : program.kernels) {
    kernels.push_back(&kernel);
    plan.kernels.push_back(describe(kernel));
  }
  if (!kernels.empty()) plan.binary = compile_kernels(kernels, target);  // a linker wants something to link
  return plan;
}

}  // namespace smelt
