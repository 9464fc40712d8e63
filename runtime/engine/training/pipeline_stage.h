// The plan of one pipeline stage. It has these entries:
//   forward.K, backward.K, evaluate.K   for each part K of the model on this stage
//   batch                               declares the inputs of a batch
//   apply                               runs the optimizer
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/engine/training/pipeline_schedule.h"
#include "runtime/plan/plan.h"

namespace smelt {

/// Position of a plan in the pipeline. Part K of the model is on stage K modulo `stages`.
struct PipelineStage {
  size_t axis = 0;  // index of the axis of stages in Plan::mesh
  int64_t stages = 1, stage = 0;
  int64_t parts_a_stage = 1;

  int64_t parts() const { return stages * parts_a_stage; }
};

/// Returns the stage of a plan; nothing if the plan is not that of a pipeline stage. Throws Error if the plan
/// lacks the entry forward.K or backward.K of one of the stage's parts.
std::optional<PipelineStage> pipeline_stage(const Plan& plan);
/// Does the same, and also throws Error if rank number `rank` of the mesh belongs to another stage than the
/// plan.
std::optional<PipelineStage> pipeline_stage(const Plan& plan, int64_t rank);

/// Returns the order in which a stage works: `interleaved` if 1f1b is asked for and stages have several
/// parts, else `asked`.
PipelineOrder order_of(const PipelineStage& stage, PipelineOrder asked);

/// Returns the name of an entry, such as "forward.3".
std::string part_entry(std::string_view what, int64_t part);
/// Returns whether the port of this name crosses the boundary between parts `part` - 1 and `part`. `what` is
/// "values" (sent forward) or "gradients" (sent backward). For "values" and part 3, the names of such ports
/// are "values.3.0", "values.3.1", ...
bool crosses_boundary(std::string_view name, std::string_view what, int64_t part);

}  // namespace smelt
