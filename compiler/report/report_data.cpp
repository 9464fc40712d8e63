#include "compiler/report/report_data.h"

#include "compiler/report/diff_data.h"
#include "compiler/report/entry_data.h"
#include "compiler/summary.h"
#include "ir/analysis/node_seconds.h"
#include "runtime/smelt.h"

namespace smelt {
namespace {

Json head_data(const ReportedPlan& plan, const ReportOptions& options) {
  Json bounds = Json::array();
  for (const Symbols::Bound& bound : plan.program.symbols.bounds()) bounds.push_back(str(bound));
  return {{"model", plan.model},
          {"target", plan.target},
          {"bounds", bounds},
          {"command", options.command},
          {"version", SMELT_VERSION},
          {"from_plan", plan.fused == nullptr},
          {"measured", !options.times.empty()}};
}

/// What times are estimated with.
Json rates_data(const Target& target) {
  const Rates rates = rates_of(target);
  return {{"bytes_per_second", rates.bytes_per_second},
          {"wide_flops", rates.wide_flops},
          {"narrow_flops", rates.narrow_flops},
          {"launch_seconds", rates.launch_seconds}};
}

Json schedule_data(const Kernel& kernel) {
  const Schedule& s = kernel.schedule;
  Json data = {{"grain", s.grain}, {"splits", s.splits}, {"vector width", s.vector_width}, {"tile", s.tile}};
  if (s.threads == 0) return data;
  return {{"threads of a block", s.threads},
          {"threads of a row", s.team},
          {"rows of a block", s.grain},
          {"splits", s.splits},
          {"vectors of a row", s.vectors},
          {"vector width", s.vector_width},
          {"unroll", s.unroll},
          {"prefetch distance", s.prefetch_distance}};
}

Json kernels_data(const ReportedPlan& plan) {
  Json kernels = Json::array();
  for (size_t i = 0; i < plan.program.kernels.size(); ++i) {
    const Kernel& kernel = plan.program.kernels[i];
    kernels.push_back({{"name", kernel.name},
                       {"text", kernel.params.empty() ? "" : print(kernel)},
                       {"language", plan.is_cuda() ? "CUDA C++" : "LLVM IR"},
                       {"code", i < plan.codes.size() ? plan.codes[i] : ""},
                       {"schedule", schedule_data(kernel)}});
  }
  return kernels;
}

Json states_data(const Program& program) {
  Json states = Json::array();
  for (const StateSize& state : state_sizes(program))
    states.push_back(
        {{"name", state.name}, {"role", name(state.role)}, {"type", state.type}, {"bytes", state.bytes}});
  return states;
}

Json refusals_data(const FusionReport& report) {
  Json refusals = Json::array();
  for (const FusionReport::Refusal& refusal : report.refusals)
    refusals.push_back(
        {{"composite", refusal.composite}, {"reason", refusal.reason}, {"bytes", refusal.bytes}});
  return refusals;
}

}  // namespace

Json report_data(const ReportedPlan& plan, const ReportOptions& options) {
  TextPool texts;
  Json entries = Json::array();
  for (const PlanEntry& entry : plan.program.entries)
    entries.push_back(entry_data(plan, entry, options.times, texts));
  Json diff = options.against ? diff_data(*options.against, plan) : Json();
  return {{"head", head_data(plan, options)},
          {"rates", rates_data(plan.rates_of)},
          {"states", states_data(plan.program)},
          {"kernels", kernels_data(plan)},
          {"refusals", refusals_data(plan.fusions)},
          {"entries", std::move(entries)},
          {"diff", std::move(diff)},
          {"texts", texts.take()}};
}

}  // namespace smelt
