#include "passes/graph/precision/precision_passes.h"

namespace smelt {

bool allow_tf32(Graph& graph, const AllowTf32Options&) {
  bool changed = false;
  for (const auto& node : graph.nodes()) {
    if (!node->is(Op::matmul) || node->operand(0)->dtype() != DType::f32) continue;
    node->set(attr::tf32, true);
    changed = true;
  }
  return changed;
}

}  // namespace smelt
