#include "codegen/cuda/template_kernels.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>

#include "codegen/cuda/batched_gemm.h"
#include "codegen/cuda/batched_gemm_kernel.h"
#include "codegen/cuda/copy_kernel.h"
#include "codegen/cuda/few_rows/few_rows.h"
#include "codegen/cuda/few_rows/few_rows_kernel.h"
#include "codegen/cuda/initialize_kernels.h"
#include "codegen/cuda/round_kernels.h"
#include "codegen/cuda/sample_kernel.h"
#include "codegen/cuda/scan_kernels.h"
#include "codegen/cuda/sort_kernels.h"
#include "codegen/cuda/top_k_kernel.h"
#include "codegen/cuda/waiting_template.h"
#include "codegen/launches/dependent_launches.h"
#include "runtime/error.h"
#include "runtime/plan/plan_fields.h"

namespace smelt {
namespace {

using StepPlace = TemplateKernel::StepPlace;

std::vector<TemplateKernel> without_steps(std::vector<KernelCode> kernels) {
  std::vector<TemplateKernel> templates;
  for (KernelCode& kernel : kernels) templates.push_back({std::move(kernel), {}});
  return templates;
}

/// The templates of steps; each is there once, however many steps it does.
class StepTemplates {
 public:
  StepTemplates(const Program& program, int compute_capability)
      : program_(program), compute_capability_(compute_capability) {}

  void add(const Step& step, StepPlace place) {
    visit_step(
        step, [](const KernelStep&) {}, [&](const GemmStep& matmul) { add_gemm(matmul, place); },
        [&](const SortIndexStep& sort) { add_sort(sort, place); },
        [&](const ScanStep& scan) { add_named(scan_kernels(scan.kind, scan.dtype, scan.exclusive), place); },
        [&](const TopKStep& top) {
          add_named(top_k_kernels(top.k.constant().value_or(0), compute_capability_), place);
        },
        [&](const SampleStep&) { add_named(sample_kernels(compute_capability_), place); },
        [&](const CopyStep& copy) { add_copy(copy, place); }, [](const FillStep&) {},
        [](const CollectiveStep&) {});
  }

  /// Sorts first, then others by their names.
  std::vector<TemplateKernel> take() && {
    for (auto& [name, kernel] : named_) sorts_.push_back(std::move(kernel));
    return std::move(sorts_);
  }

 private:
  void add_gemm(const GemmStep& matmul, StepPlace place) {
    if (const auto batched = batched_gemm(matmul))
      add_made(batched->name(), place, [&] { return batched_gemm_kernel(*batched); });
    for (const FewRows& few : few_rows(program_, program_.entries[place.entry], matmul))
      add_made(few.name(), place, [&] { return few_rows_kernel(few); });
  }

  /// Where a copy of the driver's would be all that lies between kernels that begin early.
  void add_copy(const CopyStep& copy, StepPlace place) {
    if (keeps_tokens(program_, program_.entries[place.entry])) add_named({copy_kernel(copy)}, place);
  }

  template <typename Make>
  void add_made(const std::string& name, StepPlace place, Make make) {
    const auto [entry, is_new] = named_.try_emplace(name);
    if (is_new) entry->second.code = make();
    entry->second.steps.push_back(place);
  }

  void add_named(std::vector<KernelCode> kernels, StepPlace place) {
    for (KernelCode& kernel : kernels) {
      const std::string name = kernel.name;
      add_made(name, place, [&] { return std::move(kernel); });
    }
  }

  /// The kernels of all sorts end with the same one.
  void add_sort(const SortIndexStep& sort, StepPlace place) {
    const int behind = sorts_.empty() ? 0 : 1;
    for (KernelCode& kernel : sort_kernels(radix_sort(sort.count, sort.rows, program_.symbols))) {
      const auto same = [&](const TemplateKernel& known) { return known.code.name == kernel.name; };
      auto known = std::ranges::find_if(sorts_, same);
      if (known == sorts_.end()) known = sorts_.insert(sorts_.end() - behind, {std::move(kernel), {}});
      known->steps.push_back(place);
    }
  }

  const Program& program_;
  int compute_capability_;
  std::vector<TemplateKernel> sorts_;
  std::map<std::string, TemplateKernel> named_;
};

/// Where a kernel of the entry may begin early, all do.
void wait_for_launches(const Program& program, std::vector<TemplateKernel>& templates) {
  std::vector<bool> keeps;
  for (const PlanEntry& entry : program.entries) keeps.push_back(keeps_tokens(program, entry));
  for (TemplateKernel& kernel : templates) {
    const auto is_dependent = [&](const StepPlace& place) { return keeps[place.entry]; };
    if (!kernel.code.waits && std::ranges::any_of(kernel.steps, is_dependent)) make_waiting(kernel.code);
  }
}

}  // namespace

std::vector<TemplateKernel> template_kernels(const Program& program, int compute_capability) {
  StepTemplates of_steps(program, compute_capability);
  for (size_t entry = 0; entry < program.entries.size(); ++entry)
    for (size_t step = 0; step < program.entries[entry].steps.size(); ++step)
      of_steps.add(program.entries[entry].steps[step], {entry, step});
  std::vector<TemplateKernel> templates = std::move(of_steps).take();
  wait_for_launches(program, templates);
  for (auto more : {round_kernels(program.states), initialize_kernels(program.states)})
    std::ranges::move(without_steps(std::move(more)), std::back_inserter(templates));
  return templates;
}

void add_templates(Plan& plan, std::vector<TemplateKernel> templates) {
  for (TemplateKernel& kernel : templates) {
    const auto number = static_cast<int>(plan.kernels.size());
    for (const auto& [entry, step] : kernel.steps) {
      if (entry >= plan.entries.size() || step >= plan.entries[entry].steps.size())
        fail_with(Status::internal, "template {}: the plan has no step {} in entry {}, as its program has",
                  kernel.code.name, step, entry);
      plan.entries[entry].steps[step].kernels.push_back(number);
    }
    plan.kernels.push_back(std::move(kernel.code));
  }
}

}  // namespace smelt
