#include "compiler/search/plan_cost.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/search/stage_cost.h"
#include "ir/analysis/host_states.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

int64_t states_of(const Program& program) {
  int64_t bytes = 0;
  for (const State& state : program.states) bytes += device_bytes(program, state);
  return bytes;
}

bool works_along(const Program& program, const std::string& axis) {
  return llvm::any_of(program.entries, [&](const PlanEntry& entry) {
    return llvm::any_of(entry.steps, [&](const Step& step) {
      const auto* collective = std::get_if<CollectiveStep>(&step.what);
      return collective && collective->axis == axis;
    });
  });
}

void require_axes(std::span<const Program> programs, const Mesh& mesh) {
  for (const MeshAxis& axis : mesh.axes)
    if (axis.name != kStageAxis &&
        llvm::none_of(programs, [&](const Program& program) { return works_along(program, axis.name); }))
      fail("nothing of the model is shared along the axis {}: its ranks would all do the same", axis.name);
}

EntryTime update_time(const Program& program, int64_t micro_batches, const MachineRates& rates) {
  EntryTime time;
  for (const PlanEntry& entry : program.entries) {
    const double times = entry.name == "accumulate" ? static_cast<double>(micro_batches) : 1;
    if ((micro_batches > 1) == (entry.name == "train_step")) continue;
    time += times * predicted_time(program, entry, rates);
  }
  return time;
}

}  // namespace

int64_t arena_of(const Program& program) {
  int64_t bytes = 0;
  for (const PlanEntry& entry : program.entries) bytes = std::max(bytes, entry.arena_bytes);
  return bytes;
}

PlanCost cost_of(std::span<const Program> programs, const PlanCandidate& candidate,
                 const MachineRates& rates) {
  require_axes(programs, candidate.mesh);
  PlanCost cost;
  for (const Program& program : programs) {
    const PlanCost one{.state_bytes = states_of(program),
                       .arena_bytes = arena_of(program),
                       .kept_bytes = candidate.stages() > 1 ? kept_bytes(program, candidate) : 0};
    if (one.bytes() > cost.bytes()) cost = one;
  }
  if (candidate.stages() == 1) {
    cost.time = update_time(programs.front(), candidate.micro_batches, rates);
    return cost;
  }
  const StageTime stages = stage_time(programs, candidate, rates);
  cost.time = stages.time, cost.bubble = stages.bubble;
  return cost;
}

}  // namespace smelt
