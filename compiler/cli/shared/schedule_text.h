// The schedule of a pipeline as a readable table over time.
#pragma once

#include <string>

#include "compiler/cli/shared/compile_flags.h"
#include "runtime/engine/training/pipeline_schedule.h"

namespace smelt::cli {

/// Returns a table with one row per stage and one column per unit of time. The model is divided into parts,
/// which are numbered from 0; a stage has one or several of them. The forward or the backward of one part
/// takes one unit. F0 and B0 are the forward and the backward of micro-batch 0. If stages have several parts,
/// F0/2 is the forward of part 2 of the model for micro-batch 0. "." is an idle unit. The table is followed
/// by the share of time in which stages are idle. Then comes, for each part of the model, the largest number
/// of micro-batches whose activations are stored at a time.
std::string schedule_text(PipelineOrder order, const PipelineShape& shape);

/// The flags that specify a schedule.
struct ScheduleFlags {
  std::string order = "1f1b";
  int64_t micro_batches = 8;

  /// Adds --pipeline-order and --micro-batches, for commands that show a schedule.
  void add_to(CLI::App& app);
};
/// Returns the text of the schedule for the mesh of the flags; empty if the mesh has one stage.
std::string schedule_text(const CompileFlags& flags, const ScheduleFlags& schedule);

}  // namespace smelt::cli
