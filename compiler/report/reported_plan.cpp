#include "compiler/report/reported_plan.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "codegen/code_generator.h"
#include "compiler/driver/summary.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

/// A kernel that is written by hand has no Kernel IR.
Kernel kernel_of(const KernelCode& code) {
  if (!code.text.empty() && !code.launch) return parse_kernel(code.text, code.name);
  Kernel kernel;
  kernel.name = code.name;
  return kernel;
}

std::vector<EntrySummary> summaries(const Program& program) {
  std::vector<EntrySummary> rows;
  for (const PlanEntry& entry : program.entries) rows.push_back({.entry = entry.name});
  summarise_program(program, rows);
  return rows;
}

}  // namespace

ReportedPlan reported(Compilation compilation, const CompileOptions& options, std::string model) {
  const Target target = resolved_target(options);
  return {.model = std::move(model),
          .target = target.str(),
          .rates_of = target,
          .program = std::move(compilation.program),
          .codes = {},
          .resources = {},
          .fused = std::move(compilation.fused),
          .fusions = std::move(compilation.fusions),
          .summary = std::move(compilation.summary)};
}

ReportedPlan reported(const Plan& plan, std::string model) {
  ReportedPlan result{.model = std::move(model),
                      .target = plan.target,
                      .rates_of = target_of_plan(plan.target),
                      .program = {.symbols = plan.symbols,
                                  .mesh = plan.mesh,
                                  .states = plan.states,
                                  .buffers = plan.buffers,
                                  .entries = plan.entries,
                                  .kernels = {},
                                  .description = plan.model},
                      .codes = {},
                      .resources = {},
                      .fused = nullptr,
                      .fusions = {},
                      .summary = {}};
  for (const KernelCode& code : plan.kernels) {
    result.program.kernels.push_back(kernel_of(code));
    result.codes.push_back(code.source);
    if (result.rates_of.can.launches) result.resources.push_back(kernel_resources(code, result.rates_of));
  }
  result.summary = summaries(result.program);
  return result;
}

void keep_entries(ReportedPlan& plan, const std::vector<std::string>& entries) {
  std::vector<std::string> names;
  for (const PlanEntry& entry : plan.program.entries) names.push_back("@" + entry.name);
  for (const std::string& name : entries)
    if (!llvm::is_contained(names, "@" + name))
      fail("{}: there is no entry @{}; there are: {}", plan.model, name, fmt::join(names, ", "));
  std::erase_if(plan.program.entries,
                [&](const PlanEntry& entry) { return !llvm::is_contained(entries, entry.name); });
}

void add_resources(ReportedPlan& reported, const Plan& plan) {
  if (!reported.rates_of.can.launches) return;
  const std::vector<Kernel>& kernels = reported.program.kernels;
  reported.resources.resize(kernels.size());
  for (size_t i = 0; i < kernels.size(); ++i) {
    const auto code = std::ranges::find(plan.kernels, kernels[i].name, &KernelCode::name);
    if (code != plan.kernels.end() && code->text == print(kernels[i]))
      reported.resources[i] = kernel_resources(*code, reported.rates_of);
  }
}

void add_codes(ReportedPlan& plan) {
  const CodeGenerator& generator = code_generator(plan.rates_of);
  if (!generator.lists()) return;
  const std::vector<ListedKernel> kernels = listed_kernels(plan.program);
  plan.codes.resize(kernels.size());
  for (size_t i = 0; i < kernels.size(); ++i)
    if (plan.codes[i].empty() && !kernels[i].kernel->params.empty())
      plan.codes[i] = generator.listing(kernels[i]);
}

}  // namespace smelt
