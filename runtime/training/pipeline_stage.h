// What the plan of one stage of a pipeline has: the entries forward.K and backward.K of each of its parts K,
// evaluate.K, batch (whose inputs are those of a batch), and apply.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/training/pipeline_schedule.h"

namespace smelt {

struct PipelineStage {
  size_t axis = 0;  // of the plan's mesh, that of stages
  int64_t stages = 1, stage = 0;
  int64_t parts_a_stage = 1;

  int64_t parts() const { return stages * parts_a_stage; }
};

/// Nothing where the plan is of no pipeline. Throws Error where its parts are not those of one stage.
std::optional<PipelineStage> pipeline_stage(const Plan& plan);
/// The same, and Error where the rank at this place of the mesh is another stage's.
std::optional<PipelineStage> pipeline_stage(const Plan& plan, int64_t rank);

/// Of several parts a stage 1f1b is called interleaved.
PipelineOrder order_of(const PipelineStage& stage, PipelineOrder asked);

/// "forward.3"
std::string part_entry(std::string_view what, int64_t part);
/// Whether it is the name of what crosses the boundary in front of the part: "values.3.0" of `what` values.
bool crosses_boundary(std::string_view name, std::string_view what, int64_t part);

}  // namespace smelt
