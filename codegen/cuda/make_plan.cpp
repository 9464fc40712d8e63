// A program as a plan for an NVIDIA GPU: every kernel's text and its cubin, compiled in parallel.
#include <algorithm>
#include <set>

#include "codegen/cuda/batched_gemm_kernel.h"
#include "codegen/cuda/emit_cuda.h"
#include "codegen/cuda/sort_kernels.h"
#include "codegen/make_plan.h"
#include "runtime/cuda/nvrtc.h"

namespace smelt {

std::vector<std::vector<std::string>> sources_of_kernels(const Program& program) {
  std::vector<std::vector<std::string>> sources(program.kernels.size());
  std::vector<std::set<std::string>> seen(program.kernels.size());
  for (const PlanEntry& entry : program.entries)
    for (const Step& step : entry.steps) {
      const auto* launch = std::get_if<KernelStep>(&step.what);
      if (launch == nullptr) continue;
      const auto kernel = static_cast<size_t>(launch->kernel);
      for (const std::string& source : step.sources)
        if (seen[kernel].insert(source).second) sources[kernel].push_back(source);
    }
  return sources;
}

namespace {

bool sorts(const Program& program) {
  for (const PlanEntry& entry : program.entries)
    for (const Step& step : entry.steps)
      if (std::holds_alternative<SortIndexStep>(step.what)) return true;
  return false;
}

}  // namespace

Plan make_cuda_plan(const Program& program, const Target& target) {
  Plan plan = plan_without_code(program);
  plan.target = target.str();
  const auto sources = sources_of_kernels(program);
  for (size_t i = 0; i < program.kernels.size(); ++i)
    plan.kernels[i].source = emit_cuda(program.kernels[i], sources[i]);
  if (sorts(program))
    for (KernelCode& kernel : sort_kernels()) plan.kernels.push_back(std::move(kernel));
  for (KernelCode& kernel : batched_gemm_kernels(program)) plan.kernels.push_back(std::move(kernel));
  std::vector<CudaSource> texts;
  for (const KernelCode& kernel : plan.kernels) texts.push_back({kernel.source, kernel.name});
  std::vector<Cubin> cubins = compile_cuda(texts, target.compute_capability);
  for (size_t i = 0; i < cubins.size(); ++i) plan.kernels[i].binary = std::move(cubins[i].bytes);
  return plan;
}

}  // namespace smelt
