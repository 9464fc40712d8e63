#include "runtime/engine/training/pipeline_stage.h"

#include <charconv>

#include "runtime/base/error.h"

namespace smelt {
namespace {

constexpr std::string_view kForward = "forward.";

std::optional<int64_t> forward_part(std::string_view entry) {
  if (!entry.starts_with(kForward)) return {};
  const std::string_view digits = entry.substr(kForward.size());
  int64_t part = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), part);
  if (error != std::errc{} || end != digits.data() + digits.size() || part < 0) return {};
  return part;
}

/// Parts are assigned to stages in turn: stage, stage + stages, ...
void require_parts(const Plan& plan, const PipelineStage& stage) {
  for (int64_t part = stage.stage; part < stage.parts(); part += stage.stages)
    for (const char* what : {"forward", "backward"})
      if (!plan.find_entry(part_entry(what, part)))
        fail("the plan of stage {} of a pipeline has no entry '{}'", stage.stage, part_entry(what, part));
}

}  // namespace

std::optional<PipelineStage> pipeline_stage(const Plan& plan) {
  const auto axis = plan.mesh.find(kStageAxis);
  if (!axis || plan.mesh.axes[*axis].size == 1) return {};
  PipelineStage stage{*axis, plan.mesh.axes[*axis].size, -1, 0};
  for (const PlanEntry& entry : plan.entries)
    if (const auto part = forward_part(entry.name)) {
      stage.stage = *part % stage.stages;
      ++stage.parts_a_stage;
    }
  if (stage.parts_a_stage == 0) return {};
  require_parts(plan, stage);
  return stage;
}

std::optional<PipelineStage> pipeline_stage(const Plan& plan, int64_t rank) {
  const auto stage = pipeline_stage(plan);
  if (!stage) return {};
  const int64_t place = plan.mesh.coordinates(rank)[stage->axis];
  if (place != stage->stage)
    fail("the plan is that of stage {} of the pipeline, and rank {} is at stage {} of the mesh ({})",
         stage->stage, rank, place, str(plan.mesh));
  return stage;
}

PipelineOrder order_of(const PipelineStage& stage, PipelineOrder asked) {
  const bool alternates = asked == PipelineOrder::one_f_one_b && stage.parts_a_stage > 1;
  return alternates ? PipelineOrder::interleaved : asked;
}

std::string part_entry(std::string_view what, int64_t part) { return fmt::format("{}.{}", what, part); }

bool crosses_boundary(std::string_view name, std::string_view what, int64_t part) {
  const std::string prefix = fmt::format("{}.{}.", what, part);
  return name.starts_with(prefix);
}

}  // namespace smelt
