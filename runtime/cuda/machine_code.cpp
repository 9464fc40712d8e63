#include "runtime/cuda/machine_code.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "runtime/base/error.h"
#include "runtime/plan/choices.h"

namespace smelt::cuda {
namespace {

/// Kernels for another GPU only that this GPU does not need: every step that runs one belongs to a choice
/// with an alternative without such kernels.
class Dispensable {
 public:
  Dispensable(const Plan& plan, int device) : plan_(plan), device_(device), needed_(plan.kernels.size()) {
    for (const PlanEntry& entry : plan.entries)
      for (size_t next = 0; next < entry.steps.size();) {
        const StepSpan steps = together_with(entry.steps, next);
        if (!has_another_way(entry, steps)) need(entry, steps);
        next = steps.end;
      }
  }

  bool operator()(size_t kernel) const { return is_foreign(kernel) && !needed_[kernel]; }

 private:
  bool is_foreign(size_t kernel) const {
    const int only = plan_.kernels[kernel].only_capability;
    return only != 0 && only != device_;
  }
  static std::optional<size_t> kernel_of(const Step& step) {
    const auto* launch = std::get_if<KernelStep>(&step.what);
    return launch ? std::optional(static_cast<size_t>(launch->kernel)) : std::nullopt;
  }

  bool has_another_way(const PlanEntry& entry, const StepSpan& steps) const {
    return std::ranges::any_of(alternatives_of(entry.steps, steps), [&](const StepSpan& way) {
      for (size_t i = way.begin; i < way.end; ++i)
        if (const auto kernel = kernel_of(entry.steps[i]); kernel && is_foreign(*kernel)) return false;
      return true;
    });
  }
  void need(const PlanEntry& entry, const StepSpan& steps) {
    for (size_t i = steps.begin; i < steps.end; ++i)
      if (const auto kernel = kernel_of(entry.steps[i])) needed_[*kernel] = true;
  }

  const Plan& plan_;
  int device_;
  std::vector<bool> needed_;
};

/// Machine code runs on later minor versions of its architecture, and nowhere else; with instructions of one
/// architecture alone on that.
bool runs_on(const Plan& plan, int device, const Dispensable& left_out) {
  const int made_for = std::atoi(plan.target.c_str() + 3);
  if (made_for == device) return true;
  if (made_for / 10 != device / 10 || made_for > device) return false;
  for (size_t i = 0; i < plan.kernels.size(); ++i)
    if (plan.kernels[i].only_capability != 0 && !left_out(i)) return false;
  return true;
}

MachineCode own_code(const Plan& plan, const Dispensable& left_out) {
  MachineCode code;
  for (size_t i = 0; i < plan.kernels.size(); ++i) {
    const KernelCode& kernel = plan.kernels[i];
    if (kernel.binary.empty())
      fail_with(Status::invalid_file, "kernel '{}' of the plan has no machine code: compile it again",
                kernel.name);
    code.cubins.push_back(left_out(i) ? std::span<const std::byte>() : std::span(kernel.binary));
  }
  return code;
}

CudaSource source_of(const KernelCode& kernel) {
  if (kernel.source.empty()) fail("the plan has no source of kernel '{}'", kernel.name);
  return {kernel.source, kernel.name, kernel.only_capability, kernel.contracts};
}

MachineCode made_again(const Plan& plan, int compute_capability, const NvrtcInfo& nvrtc,
                       const Dispensable& left_out) {
  if (!nvrtc.available) fail("{}", nvrtc.problem);
  std::vector<CudaSource> sources;
  for (size_t i = 0; i < plan.kernels.size(); ++i)
    if (!left_out(i)) sources.push_back(source_of(plan.kernels[i]));
  MachineCode code;
  code.made = compile_cuda(sources, compute_capability);
  for (size_t i = 0, next = 0; i < plan.kernels.size(); ++i)
    code.cubins.push_back(left_out(i) ? std::span<const std::byte>() : std::span(code.made[next++].bytes));
  return code;
}

}  // namespace

MachineCode machine_code(const Plan& plan, const DeviceInfo& device, const NvrtcInfo& nvrtc) {
  const Dispensable left_out(plan, device.compute_capability);
  if (runs_on(plan, device.compute_capability, left_out)) return own_code(plan, left_out);
  try {
    return made_again(plan, device.compute_capability, nvrtc, left_out);
  } catch (const Error& error) {
    fail_with(
        Status::unavailable,
        "the plan is for {}, this machine's {} is sm_{}, and its kernels cannot be made again for it: {}; "
        "compile the model with --target=sm_{}",
        plan.target, device.name, device.compute_capability, error.what(), device.compute_capability);
  }
}

}  // namespace smelt::cuda
