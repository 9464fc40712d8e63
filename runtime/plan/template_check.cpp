#include "runtime/plan/plan_checks.h"

#include "runtime/plan/device_kind.h"

#include <algorithm>

#include "runtime/base/error.h"
#include "runtime/plan/plan_validate.h"
#include "runtime/plan/step_places.h"
#include "runtime/plan/step_values.h"

namespace smelt {
namespace {

using Argument = TemplateLaunch::Argument;

constexpr int64_t kMostSharedBytes = 1 << 20, kMostThreads = 1024;
constexpr size_t kMostArguments = 256;

template <typename Named>
bool has(const std::vector<Named>& values, std::string_view name) {
  return std::ranges::find(values, name, &Named::first) != values.end();
}

/// Names that integers are made of.
std::vector<std::string> names_of_integers(const TemplateLaunch& launch) {
  std::vector<std::string> names;
  for (const Argument& argument : launch.arguments)
    if (argument.kind == Argument::Kind::integer) argument.value.collect_symbols(names);
  for (const TemplateLaunch::Condition& condition : launch.conditions) condition.value.collect_symbols(names);
  launch.blocks.collect_symbols(names), launch.shared_bytes.collect_symbols(names);
  return names;
}

const Argument* find_address(const KernelCode& kernel, std::string_view name) {
  for (const Argument& argument : kernel.launch->arguments)
    if (argument.kind == Argument::Kind::address && argument.value.str() == name) return &argument;
  return nullptr;
}

/// Addresses have the types that the code takes them for.
void check_types(const Plan& plan, const KernelCode& kernel, const StepValues& values,
                 const std::string& place) {
  for (const auto& [name, ref] : values.addresses) {
    const Argument* argument = find_address(kernel, name);
    const DType dtype = plan.buffers[static_cast<size_t>(ref.buffer)].dtype;
    if (argument && argument->dtype.value_or(dtype) != dtype)
      fail_with(Status::invalid_file, "{}: kernel '{}' takes {} as {}: it is {}", place, kernel.name, name,
                smelt::name(*argument->dtype), smelt::name(dtype));
  }
}

void check_values(const Plan& plan, const KernelCode& kernel, const StepValues& values,
                  const std::string& place) {
  const auto require = [&](bool known, std::string_view kind, const std::string& name) {
    if (!known)
      fail_with(Status::invalid_file, "{}: kernel '{}' takes the {} '{}', which is no field of the step",
                place, kernel.name, kind, name);
  };
  for (const Argument& argument : kernel.launch->arguments) {
    const std::string name = argument.value.str();
    if (argument.kind == Argument::Kind::address)
      require(name == "random" || has(values.addresses, name), "address", name);
    if (argument.kind == Argument::Kind::real) require(has(values.reals, name), "real number", name);
  }
  for (const std::string& name : names_of_integers(*kernel.launch))
    require(has(values.integers, name) || plan.symbols.declared(name), "integer", name);
}

}  // namespace

void check_results(const Plan& plan, const Step& step, std::span<const int> kernels,
                   const std::string& place) {
  std::vector<std::string_view> missing;
  for (const StepPlace& result : places(step))
    if (result.is_result()) missing.push_back(result.name);
  for (const int index : kernels) {
    const KernelCode& kernel = plan.kernels[static_cast<size_t>(index)];
    for (const std::string_view name : missing)
      if (const Argument* argument = find_address(kernel, name); argument && argument->read)
        fail_with(Status::invalid_file, "{}: kernel '{}' reads {}, which no kernel before it has written",
                  place, kernel.name, name);
    std::erase_if(missing, [&](std::string_view name) {
      const Argument* argument = find_address(kernel, name);
      return argument && argument->written;
    });
  }
  if (!missing.empty())
    fail_with(Status::invalid_file, "{}: none of its {} kernels that take these sizes writes {}", place,
              kernels.size(), missing.front());
}

void check_template(const KernelCode& kernel) {
  const auto refuse = [&](const std::string& what) {
    fail_with(Status::invalid_file, "kernel '{}', a template: {}", kernel.name, what);
  };
  if (kernel.threads < 1 || kernel.threads > kMostThreads)
    refuse(fmt::format("{} threads a block: expected 1 to {}", kernel.threads, kMostThreads));
  if (kernel.shared_bytes < 0 || kernel.shared_bytes > kMostSharedBytes)
    refuse(fmt::format("{} bytes of shared memory: expected 0 to {}", kernel.shared_bytes, kMostSharedBytes));
  if (kernel.launch->arguments.size() > kMostArguments)
    refuse(fmt::format("{} arguments: expected at most {}", kernel.launch->arguments.size(), kMostArguments));
  for (const Argument& argument : kernel.launch->arguments) {
    const std::string value = argument.value.str();
    const bool named = !argument.value.is_constant() && argument.value == Dim::symbol(value);
    if (argument.kind != Argument::Kind::integer && !named)
      refuse(fmt::format("the {} '{}': expected a name", name(argument.kind), value));
    if (argument.alignment < 1)
      refuse(fmt::format("an alignment of {}: expected at least 1", argument.alignment));
  }
  for (const TemplateLaunch::Condition& condition : kernel.launch->conditions)
    if (condition.divisor < 1) refuse(fmt::format("the divisor {}: expected at least 1", condition.divisor));
}

void check_templates(const Plan& plan, const Step& step, const std::string& place) {
  std::vector<int> kernels = step.kernels;
  for (const int index : kernels) {
    const bool known = index >= 0 && index < static_cast<int>(plan.kernels.size());
    if (!known || !plan.kernels[static_cast<size_t>(index)].launch)
      fail_with(Status::invalid_file, "{}: kernel {} of its own: expected a template among {}", place, index,
                plan.kernels.size());
    const KernelCode& kernel = plan.kernels[static_cast<size_t>(index)];
    if (kernel.launch->step != kind_name(step))
      fail_with(Status::invalid_file, "{}: kernel '{}' of its own does {} steps: expected one for {} steps",
                place, kernel.name, kernel.launch->step.empty() ? "no" : kernel.launch->step,
                kind_name(step));
  }
  const bool of_templates =
      std::visit([]<typename Kind>(const Kind&) { return StepKind<Kind>::by_template; }, step.what);
  if (device_kind(plan.target).step_kernels && of_templates && step.kernels.empty())
    fail_with(Status::invalid_file, "{}: the plan has no kernel for it: compile it again for a GPU", place);
  if (const auto* launch = std::get_if<KernelStep>(&step.what)) kernels.push_back(launch->kernel);
  const auto is_template = [&](int index) {
    return plan.kernels[static_cast<size_t>(index)].launch.has_value();
  };
  std::erase_if(kernels, [&](int index) { return !is_template(index); });
  if (!step.kernels.empty()) check_results(plan, step, step.kernels, place);
  if (kernels.empty()) return;
  const StepValues values = values_of(step);
  for (const int index : kernels) {
    const KernelCode& kernel = plan.kernels[static_cast<size_t>(index)];
    check_values(plan, kernel, values, place);
    check_types(plan, kernel, values, place);
  }
}

}  // namespace smelt
