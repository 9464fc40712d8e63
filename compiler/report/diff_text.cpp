// The differences of two plans as text.
#include <fmt/ranges.h>

#include "compiler/cli/shared/program_text.h"
#include "compiler/cli/shared/text_table.h"
#include "compiler/driver/step_cost.h"
#include "compiler/driver/summary.h"
#include "compiler/report/plan_diff.h"

namespace smelt {
namespace {

int64_t bytes_of(const ReportedPlan& plan, const PlanEntry& entry) {
  int64_t bytes = 0;
  for (const Step& step : entry.steps) bytes += step_bytes(plan.program, step);
  return bytes;
}

std::string seconds_of(const ReportedPlan& plan, const PlanEntry& entry) {
  return cli::seconds_text(predicted_seconds(plan.program, entry, rates_of(plan.rates_of)));
}

std::string line(char sign, const ReportedPlan& plan, const PlanEntry& entry, int number) {
  const Step& step = entry.steps[static_cast<size_t>(number)];
  return fmt::format("    {} #{} {} ({}): {}; {}, {}\n", sign, number, cli::step_name(plan.program, step),
                     step.phase, fmt::join(step.sources, " + "),
                     cli::bytes_text(step_bytes(plan.program, step)),
                     cli::seconds_text(step_seconds(plan.program, step, rates_of(plan.rates_of))));
}

std::string entry_text(const EntryDiff& diff, const ReportedPlan& before, const ReportedPlan& after) {
  const PlanEntry &a = *find_entry(before.program, diff.entry), &b = *find_entry(after.program, diff.entry);
  size_t gone = 0, made = 0;
  for (const StepChange& change : diff.changes) gone += change.before.size(), made += change.after.size();
  std::string text = fmt::format(
      "@{}: {} -> {} steps, {} -> {} moved, arena {} -> {}, estimated {} -> {}\n"
      "  {} steps are equal{}, {} are only before, {} only after\n",
      diff.entry, a.steps.size(), b.steps.size(), cli::bytes_text(bytes_of(before, a)),
      cli::bytes_text(bytes_of(after, b)), cli::bytes_text(a.arena_bytes), cli::bytes_text(b.arena_bytes),
      seconds_of(before, a), seconds_of(after, b), diff.equal.size(),
      diff.moved > 0 ? fmt::format(" ({} of them in another place)", diff.moved) : "", gone, made);
  for (const StepChange& change : diff.changes) {
    text += "\n";
    for (const int number : change.before) text += line('-', before, a, number);
    for (const int number : change.after) text += line('+', after, b, number);
  }
  return text;
}

}  // namespace

std::string diff_text(const ReportedPlan& before, const ReportedPlan& after) {
  const PlanDiff diff = diff_plans(before.program, after.program);
  if (diff.is_empty()) return "the plans have the same steps\n";
  std::string text;
  for (const EntryDiff& entry : diff.entries) text += entry_text(entry, before, after) + "\n";
  for (const std::string& name : diff.only_before) text += fmt::format("@{}: only before\n", name);
  for (const std::string& name : diff.only_after) text += fmt::format("@{}: only after\n", name);
  return text;
}

}  // namespace smelt
