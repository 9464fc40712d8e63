#include "codegen/cuda/template_kernels.h"
#include "codegen/cuda/step_kernels.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>

#include "codegen/cuda/batched_gemm.h"
#include "codegen/cuda/small_m/emit_small_m.h"
#include "codegen/cuda/small_m/small_m.h"
#include "codegen/launches/launch_passes.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

using StepPlace = TemplateKernel::StepPlace;

std::vector<TemplateKernel> without_steps(std::vector<KernelCode> kernels) {
  std::vector<TemplateKernel> templates;
  for (KernelCode& kernel : kernels) templates.push_back({std::move(kernel), {}});
  return templates;
}

/// The templates of steps; each is listed once, however many steps it does.
class StepTemplates {
 public:
  StepTemplates(const Program& program, int compute_capability)
      : program_(program), compute_capability_(compute_capability) {}

  void add(const Step& step, StepPlace place) {
    std::visit([&](const auto& kind) { add(kind, place); }, step.what);
  }

  /// Sequences first, then others by their names.
  std::vector<TemplateKernel> take() && {
    for (auto& [name, kernel] : named_) in_sequence_.push_back(std::move(kernel));
    return std::move(in_sequence_);
  }

 private:
  void add(const KernelStep&, StepPlace) {}
  void add(const FillStep&, StepPlace) {}
  void add(const CollectiveStep&, StepPlace) {}

  void add(const GemmStep& matmul, StepPlace place) {
    for (const BatchedGemm& batched : batched_gemm(matmul))
      add_made(batched.name(), place, [&] { return batched_gemm_kernel(batched); });
    for (const SmallM& few : small_m(program_, program_.entries[place.entry], matmul))
      add_made(few.name(), place, [&] { return small_m_kernel(few); });
  }

  /// Needed where a copy of the driver's would be all that separates kernels that begin early.
  void add(const CopyStep& copy, StepPlace place) {
    if (is_transposition(copy)) return add_named({transpose_kernel(copy)}, place);
    if (keeps_tokens(program_, program_.entries[place.entry])) add_named({copy_kernel(copy)}, place);
  }

  template <typename Kind>
  void add(const Kind& step, StepPlace place) {
    StepKernels made = step_kernels(step, program_.symbols, compute_capability_);
    made.in_sequence ? add_sequence(std::move(made.kernels), place)
                     : add_named(std::move(made.kernels), place);
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

  /// A new kernel comes directly before the next one of its sequence.
  void add_sequence(std::vector<KernelCode> kernels, StepPlace place) {
    auto next = in_sequence_.end();
    for (size_t i = kernels.size(); i-- > 0;) {
      const auto same = [&](const TemplateKernel& known) { return known.code.name == kernels[i].name; };
      const auto known = std::ranges::find_if(in_sequence_, same);
      next = known != in_sequence_.end() ? known : in_sequence_.insert(next, {std::move(kernels[i]), {}});
      next->steps.push_back(place);
    }
  }

  const Program& program_;
  int compute_capability_;
  std::vector<TemplateKernel> in_sequence_;
  std::map<std::string, TemplateKernel> named_;
};

/// Makes all templates wait for launches that are used in an entry whose kernels may begin early.
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
