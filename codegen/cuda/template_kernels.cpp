#include "codegen/cuda/template_kernels.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "codegen/cuda/batched_gemm.h"
#include "codegen/cuda/batched_gemm_kernel.h"
#include "codegen/cuda/initialize_kernels.h"
#include "codegen/cuda/round_kernels.h"
#include "codegen/cuda/sort_kernels.h"
#include "runtime/plan/plan_fields.h"

namespace smelt {
namespace {

bool sorts(const Program& program) {
  for (const PlanEntry& entry : program.entries)
    for (const Step& step : entry.steps)
      if (std::holds_alternative<SortIndexStep>(step.what)) return true;
  return false;
}

/// Of the templates that do a step, in the order in which they run.
std::vector<std::string> names_of_templates(const Step& step) {
  using Names = std::vector<std::string>;
  return visit_step(
      step, [](const KernelStep&) { return Names(); },
      [](const GemmStep& matmul) {
        const auto batched = batched_gemm(matmul);
        return batched ? Names{batched->name()} : Names();
      },
      [](const SortIndexStep&) { return Names{kRankName, kBeginsName}; },
      [](const CopyStep&) { return Names(); }, [](const FillStep&) { return Names(); });
}

}  // namespace

std::vector<KernelCode> template_kernels(const Program& program) {
  std::vector<KernelCode> kernels = sorts(program) ? sort_kernels() : std::vector<KernelCode>();
  for (auto more :
       {batched_gemm_kernels(program), round_kernels(program.states), initialize_kernels(program.states)})
    std::ranges::move(more, std::back_inserter(kernels));
  return kernels;
}

void assign_templates(Plan& plan) {
  std::map<std::string, int> indices;
  for (size_t i = 0; i < plan.kernels.size(); ++i)
    if (plan.kernels[i].launch) indices[plan.kernels[i].name] = static_cast<int>(i);
  for (PlanEntry& entry : plan.entries)
    for (Step& step : entry.steps)
      for (const std::string& name : names_of_templates(step)) step.kernels.push_back(indices.at(name));
}

}  // namespace smelt
