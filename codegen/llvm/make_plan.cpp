#include "codegen/make_plan.h"

#include "codegen/llvm/emit_llvm.h"
#include "runtime/cpu/features.h"

namespace smelt {
namespace {

KernelCode describe(const Kernel& kernel) {
  return {.name = kernel.name,
          .text = print(kernel),
          .dims = launch_dims(kernel),
          .range = kernel.range(),
          .grain = kernel.schedule.grain,
          .splits = kernel.schedule.splits,
          .arguments = static_cast<int>(kernel.params.size()),
          .random_ids = kernel.random_slots};
}

/// What LLVM may use for this target, as far as a runtime can ask the processor for it.
std::vector<std::string> needed_features(const CpuTarget& target) {
  std::vector<std::string> features = host_features();
  std::erase_if(features, [&](const std::string& feature) { return !target.has(feature); });
  return features;
}

}  // namespace

Plan make_plan(const Program& program) {
  const CpuTarget target = CpuTarget::host();
  Plan plan;
  plan.target = target.str();
  if (!program.kernels.empty()) plan.features = needed_features(target);
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
