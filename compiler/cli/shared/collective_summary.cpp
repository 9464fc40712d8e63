#include "compiler/cli/shared/program_text.h"

#include <fmt/format.h>

#include "compiler/cli/shared/text_table.h"
#include "compiler/driver/summary.h"
#include "compiler/search/plan_time.h"
#include "compiler/search/rank_formulas.h"
#include "runtime/plan/step.h"

namespace smelt::cli {
namespace {

std::string ms_text(double seconds) { return fmt::format("{:.3f}", seconds * 1e3); }

std::string kinds_table(const Program& program, const MachineRates& rates) {
  TextTable table({"entry", "collective", "axis", "ranks", "count", "bytes", "over a link", "alone ms"});
  for (const PlanEntry& entry : program.entries)
    for (const CollectiveUse& use : collective_uses(program, entry, rates.collectives))
      table.add({entry.name, std::string(name(use.kind)), use.axis, std::to_string(use.ranks),
                 std::to_string(use.count), count_text(static_cast<int64_t>(use.bytes)),
                 count_text(static_cast<int64_t>(use.link_bytes)), ms_text(use.seconds)});
  return table.text();
}

std::string times_table(const Program& program, const MachineRates& rates) {
  TextTable table({"entry", "predicted ms", "work ms", "collectives ms", "hidden ms", "exposed ms"});
  for (const PlanEntry& entry : program.entries) {
    const EntryTime time = predicted_time(program, entry, rates);
    table.add({entry.name, ms_text(time.seconds), ms_text(time.compute), ms_text(time.collectives),
               ms_text(time.hidden()), ms_text(time.exposed)});
  }
  return table.text();
}

double percent_above(double planned, double formula) {
  return formula > 0 ? 100 * (planned / formula - 1) : 0;
}

std::string states_line(const Program& program) {
  double planned = 0;
  for (const StateSize& size : state_sizes(program)) planned += static_cast<double>(size.bytes);
  const double formula = state_bytes_by_formula(program);
  return fmt::format("states of a rank: {} bytes; by the formula, without padding, {} ({:+.2f}%)\n",
                     count_text(static_cast<int64_t>(planned)), count_text(static_cast<int64_t>(formula)),
                     percent_above(planned, formula));
}

/// Returns the line of a training step: the traffic of all parameters per update.
std::string data_line(const Program& program, const PlanEntry& entry, const MachineRates& rates) {
  double planned = 0;
  for (const CollectiveUse& use : collective_uses(program, entry, rates.collectives))
    if (use.axis == "data") planned += use.link_bytes;
  const double formula = data_bytes_by_formula(program);
  return fmt::format(
      "{} along data: {} bytes over a link; by the formula, of {} trained elements, {} ({:+.2f}%)\n",
      entry.name, count_text(static_cast<int64_t>(planned)), count_text(trained_elements(program)),
      count_text(static_cast<int64_t>(formula)), percent_above(planned, formula));
}

}  // namespace

std::string collectives_text(const Program& program, const MachineRates& rates) {
  if (program.mesh.empty()) return "";
  std::string text = kinds_table(program, rates) + "\n" + times_table(program, rates) + rates.source + "\n";
  text += states_line(program);
  for (const PlanEntry& entry : program.entries)
    if (entry.name == "train_step" && data_bytes_by_formula(program) > 0)
      text += data_line(program, entry, rates);
  return text + "\n";
}

}  // namespace smelt::cli
