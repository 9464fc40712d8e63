// The schedule of a pipeline as a readable table over time.
#pragma once

#include <string>

#include "compiler/cli/shared/compile_flags.h"
#include "runtime/engine/training/pipeline_schedule.h"

namespace smelt::cli {

/// One row per stage and one column per unit of time, each forward and backward of a part taking one: F0 and
/// B0 are those of micro-batch 0, F0/2 of its part 2 where a stage has several. Then the share of time in
/// which stages are idle, and the micro-batches whose values each part keeps at most.
std::string schedule_text(PipelineOrder order, const PipelineShape& shape);

struct ScheduleFlags {
  std::string order = "1f1b";
  int64_t micro_batches = 8;

  /// Adds --pipeline-order and --micro-batches, for commands that show a schedule.
  void add_to(CLI::App& app);
};
/// Returns the text of the schedule for the mesh of the flags; nothing where the mesh has no stages.
std::string schedule_text(const CompileFlags& flags, const ScheduleFlags& schedule);

}  // namespace smelt::cli
