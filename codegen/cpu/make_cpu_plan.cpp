#include "codegen/make_plan.h"

#include "codegen/cpu/emit_llvm.h"
#include "runtime/cpu/features.h"

namespace smelt {
namespace {

/// Returns the features that LLVM may use for this target, restricted to those that a runtime can query.
std::vector<std::string> needed_features(const CpuTarget& target) {
  std::vector<std::string> features = host_features();
  std::erase_if(features, [&](const std::string& feature) { return !target.has(feature); });
  return features;
}

}  // namespace

Plan make_cpu_plan(const Program& program) {
  const CpuTarget target = CpuTarget::host();
  Plan plan = plan_without_code(program);
  plan.target = target.str();
  if (!program.kernels.empty()) plan.features = needed_features(target);
  std::vector<const Kernel*> kernels;
  for (const Kernel& kernel : program.kernels) kernels.push_back(&kernel);
  if (!kernels.empty()) plan.binary = compile_kernels(kernels, target);  // a linker wants something to link
  return plan;
}

}  // namespace smelt
