#include "passes/graph/fusion/plan_neighbours.h"

#include "passes/graph/fusion/merge_gemms.h"

namespace smelt {

bool plan_neighbours(Module& module) {
  const std::unique_ptr<Module> copy = module.clone();
  for (const auto& graph : copy->graphs) merge_gemms(*graph, {});
  const bool changed = copy->adjacent != module.adjacent;
  module.adjacent = copy->adjacent;
  return changed;
}

}  // namespace smelt
