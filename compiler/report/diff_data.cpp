#include "compiler/report/report_data.h"

#include <fmt/ranges.h>

#include "compiler/cli/shared/program_text.h"
#include "compiler/driver/step_cost.h"
#include "compiler/report/source_layer.h"

namespace smelt {
namespace {

Json changed_steps(const ReportedPlan& plan, const PlanEntry& entry, const std::vector<int>& numbers) {
  Json steps = Json::array();
  for (const int number : numbers) {
    const Step& step = entry.steps[static_cast<size_t>(number)];
    steps.push_back({{"number", number},
                     {"name", cli::step_name(plan.program, step)},
                     {"phase", step.phase},
                     {"layer", layer_of(step.sources)},
                     {"sources", fmt::format("{}", fmt::join(step.sources, ", "))},
                     {"bytes", step_cost(plan.program, step).bytes},
                     {"estimated", step_seconds(plan.program, step, rates_of(plan.rates_of))}});
  }
  return steps;
}

Json totals_data(const ReportedPlan& plan, const PlanEntry& entry) {
  int64_t bytes = 0;
  for (const Step& step : entry.steps) bytes += step_cost(plan.program, step).bytes;
  return {{"steps", entry.steps.size()},
          {"bytes", bytes},
          {"arena", entry.arena_bytes},
          {"estimated", predicted_seconds(plan.program, entry, rates_of(plan.rates_of))}};
}

}  // namespace

Json diff_data(const ReportedPlan& before, const ReportedPlan& after) {
  const PlanDiff diff = diff_plans(before.program, after.program);
  Json entries = Json::object();
  for (const EntryDiff& entry : diff.entries) {
    const PlanEntry &a = *find_entry(before.program, entry.entry),
                    &b = *find_entry(after.program, entry.entry);
    Json changes = Json::array();
    for (const StepChange& change : entry.changes)
      changes.push_back({{"before", changed_steps(before, a, change.before)},
                         {"after", changed_steps(after, b, change.after)}});
    entries[entry.entry] = {{"equal", entry.equal.size()},
                            {"moved", entry.moved},
                            {"changes", std::move(changes)},
                            {"before", totals_data(before, a)},
                            {"after", totals_data(after, b)}};
  }
  return {{"against", before.model},
          {"target", before.target},
          {"entries", std::move(entries)},
          {"only_before", diff.only_before},
          {"only_after", diff.only_after}};
}

}  // namespace smelt
