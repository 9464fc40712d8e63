#include "runtime/session/shared_weights.h"

#include "runtime/base/error.h"

namespace smelt {

std::vector<bool> weight_states(const Plan& plan) {
  std::vector<bool> weights;
  for (const State& state : plan.states) weights.push_back(state.role == Role::parameter);
  return weights;
}

void require_unwritten_weights(const Plan& plan) {
  const std::vector<bool> weights = weight_states(plan);
  for (const PlanEntry& entry : plan.entries)
    for (const Step& step : entry.steps)
      for (const int written : step.writes) {
        const int state = plan.buffers[static_cast<size_t>(written)].state;
        if (state < 0 || !weights[static_cast<size_t>(state)]) continue;
        fail(
            "the plan's entry '{}' writes to '{}': sessions share the weights of plans for inference only "
            "(smelt compile --mode=infer)",
            entry.name, plan.states[static_cast<size_t>(state)].name);
      }
}

}  // namespace smelt
