#include "compiler/report/report_data.h"

#include "compiler/driver/summary.h"
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

/// Returns the rates that times are estimated with.
Json rates_data(const Target& target) {
  const Rates rates = rates_of(target);
  return {{"bytes_per_second", rates.bytes_per_second},
          {"wide_flops", rates.wide_flops},
          {"narrow_flops", rates.narrow_flops},
          {"launch_seconds", rates.launch_seconds}};
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
