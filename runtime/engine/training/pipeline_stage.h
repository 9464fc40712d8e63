// The plan of one pipeline stage: the entries forward.K and backward.K of each of its parts K, evaluate.K,
// batch (whose inputs are those of a batch), and apply.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/engine/training/pipeline_schedule.h"
#include "runtime/plan/plan.h"

namespace smelt {

struct PipelineStage {
  size_t axis = 0;  // of the plan's mesh, that of stages
  int64_t stages = 1, stage = 0;
  int64_t parts_a_stage = 1;

  int64_t parts() const { return stages * parts_a_stage; }
};

/// Nothing if the plan is of no pipeline. Throws Error if its parts are not those of one stage.
std::optional<PipelineStage> pipeline_stage(const Plan& plan);
/// Returns the same. Throws Error if this rank of the mesh belongs to another stage.
std::optional<PipelineStage> pipeline_stage(const Plan& plan, int64_t rank);

/// Returns the order of a stage: `asked`, but interleaved for 1f1b with several parts.
PipelineOrder order_of(const PipelineStage& stage, PipelineOrder asked);

/// "forward.3"
std::string part_entry(std::string_view what, int64_t part);
/// Returns whether it is the name of a tensor that crosses the boundary before the part: "values.3.0" if
/// `what` is values.
bool crosses_boundary(std::string_view name, std::string_view what, int64_t part);

}  // namespace smelt
