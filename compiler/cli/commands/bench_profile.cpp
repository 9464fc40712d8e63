#include "compiler/cli/commands/bench_training.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "compiler/cli/commands/doctor.h"
#include "compiler/cli/shared/program_text.h"
#include "compiler/driver/step_cost.h"

namespace smelt::cli {
namespace {

/// Equal steps (of different layers) in one row, the longest first.
struct ProfileRow {
  double seconds = 0, flops = 0;
  int64_t runs = 0, bytes = 0;
  std::string phase, sources;
};

const Step& step_of(const StepTime& time) { return time.entry->steps[static_cast<size_t>(time.step)]; }

std::vector<std::pair<std::string, ProfileRow>> profile_rows(const Program& program,
                                                             std::span<const StepTime> times) {
  std::map<std::string, ProfileRow> rows;
  for (const StepTime& time : times) {
    const Step& step = step_of(time);
    ProfileRow& row = rows[step_name(program, step)];
    const StepCost cost = step_cost(program, step);
    row.seconds += time.seconds, row.runs += time.runs, row.phase = step.phase;
    row.bytes += cost.bytes * time.runs, row.flops += cost.flops * static_cast<double>(time.runs);
    if (row.sources.empty()) row.sources = step_sources(step, 50);
  }
  std::vector<std::pair<std::string, ProfileRow>> sorted(rows.begin(), rows.end());
  std::ranges::sort(sorted, [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });
  return sorted;
}

/// Milliseconds and steps of one stage of a training step.
struct StageTime {
  double gemm = 0, other = 0;
  int64_t steps = 0;
};

std::map<std::string, StageTime> stages_of(BenchWorkload& work) {
  std::map<std::string, StageTime> stages;
  for (const StepTime& time : work.executor().profile()) {
    const Step& step = step_of(time);
    const double ms = time.seconds / static_cast<double>(time.runs) * 1e3;
    for (StageTime* stage : {&stages[step.phase], &stages["whole step"]}) {
      (std::holds_alternative<GemmStep>(step.what) ? stage->gemm : stage->other) += ms;
      ++stage->steps;
    }
  }
  return stages;
}

TextTable stage_table(BenchWorkload& work) {
  TextTable table({"stage", "steps", "ms", "GEMM ms", "other ms", "not GEMM"});
  for (const auto& [name, stage] : stages_of(work))
    table.add({name, std::to_string(stage.steps), fmt::format("{:.3f}", stage.gemm + stage.other),
               fmt::format("{:.3f}", stage.gemm), fmt::format("{:.3f}", stage.other),
               fmt::format("{:.0f}%", 100 * stage.other / (stage.gemm + stage.other))});
  return table;
}

}  // namespace

TextTable step_table(const Program& program, std::span<const StepTime> times, double copy) {
  const auto rows = profile_rows(program, times);
  double total = 0;
  for (const auto& [name, row] : rows) total += row.seconds;
  TextTable table({"step", "phase", "runs", "ms a run", "share", "MiB a run", "GB/s", "of copy", "GFLOP/s",
                   "bound by", "sources"});
  for (const auto& [name, row] : rows) {
    const double runs = static_cast<double>(row.runs), rate = static_cast<double>(row.bytes) / row.seconds;
    table.add({name, row.phase, std::to_string(row.runs), fmt::format("{:.3f}", row.seconds / runs * 1e3),
               fmt::format("{:.1f}%", 100 * row.seconds / total),
               fmt::format("{:.2f}", static_cast<double>(row.bytes) / runs / (1 << 20)),
               fmt::format("{:.1f}", rate / 1e9), fmt::format("{:.0f}%", 100 * rate / copy),
               fmt::format("{:.1f}", row.flops / row.seconds / 1e9),
               row.flops < 10.0 * static_cast<double>(row.bytes) ? "memory" : "arithmetic", row.sources});
  }
  return table;
}

std::vector<TextTable> profile_tables(BenchWorkload& work, int threads) {
  const double copy = copy_bytes_per_second(work.executor(), threads);
  return {step_table(work.compilation().program, work.executor().profile(), copy), stage_table(work)};
}

std::string trace_events(BenchWorkload& work) {
  const Program& program = work.compilation().program;
  Json events = Json::array();
  double at = 0;
  for (const StepTime& time : work.executor().profile()) {
    const Step& step = step_of(time);
    const double microseconds = time.seconds / static_cast<double>(time.runs) * 1e6;
    events.push_back(
        {{"name", step_name(program, step)},
         {"cat", step.phase},
         {"ph", "X"},
         {"ts", at},
         {"dur", microseconds},
         {"pid", 0},
         {"tid", 0},
         {"args", {{"entry", time.entry->name}, {"step", time.step}, {"sources", step.sources}}}});
    at += microseconds;
  }
  return Json{{"traceEvents", std::move(events)}}.dump() + "\n";
}

}  // namespace smelt::cli
