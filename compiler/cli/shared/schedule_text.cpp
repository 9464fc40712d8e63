#include "compiler/cli/shared/schedule_text.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "compiler/driver/pipeline_stages.h"
#include "runtime/engine/training/pipeline_simulation.h"

namespace smelt::cli {
namespace {

std::string work_label(const PipelineStep& work, const PipelineShape& shape) {
  const char letter = work.action == PipelineAction::forward ? 'F' : 'B';
  std::string label = fmt::format("{}{}", letter, work.micro_batch);
  return shape.parts_a_stage > 1 ? fmt::format("{}/{}", label, work.part) : label;
}

/// Returns the actions of a stage at each unit of time; "." where it is idle.
std::vector<std::string> row_of(const std::vector<PipelineSpan>& spans, const PipelineShape& shape,
                                size_t columns) {
  std::vector<std::string> row(columns, ".");
  for (const PipelineSpan& span : spans)
    row[static_cast<size_t>(std::lround(span.begin))] = work_label(span.work, shape);
  return row;
}

}  // namespace

std::string schedule_text(PipelineOrder order, const PipelineShape& shape) {
  const PipelineSchedule schedule = make_schedule(order, shape);
  const PipelineTiming timing = simulate(schedule, equal_times(shape), ring_sizes(schedule));
  const auto columns = static_cast<size_t>(std::lround(timing.total));
  std::string text = fmt::format("{}: {} stages, {} micro-batches, {} parts\n", name(order), shape.stages,
                                 shape.micro_batches, shape.parts());
  for (int64_t stage = 0; stage < shape.stages; ++stage) {
    text += fmt::format("stage {:<3}", stage);
    for (const std::string& cell : row_of(timing.stages[static_cast<size_t>(stage)], shape, columns))
      text += fmt::format(" {:<{}}", cell, shape.parts_a_stage > 1 ? 5 : 3);
    text.erase(text.find_last_not_of(' ') + 1);
    text += "\n";
  }
  return text + fmt::format(
                    "idle {:.1f}% of the time, if all parts take as long forward as backward\n"
                    "kept at most, of parts 0 to {}: {} micro-batches\n",
                    100 * timing.bubble, shape.parts() - 1, fmt::join(most_kept(schedule), ", "));
}

void ScheduleFlags::add_to(CLI::App& app) {
  app.add_option("--micro-batches", micro_batches,
                 "of an update of a pipeline, in the schedule that is shown")
      ->check(CLI::Range(1, 1 << 10))
      ->capture_default_str();
  app.add_option("--pipeline-order", order, "of the schedule that is shown")
      ->check(CLI::IsMember({"1f1b", "gpipe", "interleaved"}))
      ->capture_default_str();
}

std::string schedule_text(const CompileFlags& flags, const ScheduleFlags& schedule) {
  const int64_t stages = pipeline_stages(flags.values.mesh);
  if (stages == 1) return {};
  PipelineOrder order = *parse_pipeline_order(schedule.order);
  if (flags.values.parts_a_stage > 1 && order == PipelineOrder::one_f_one_b)
    order = PipelineOrder::interleaved;
  return schedule_text(order, {stages, schedule.micro_batches, flags.values.parts_a_stage});
}

}  // namespace smelt::cli
