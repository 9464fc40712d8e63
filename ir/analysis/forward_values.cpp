#include "ir/analysis/forward_values.h"

#include "llvm/ADT/SmallVector.h"

namespace smelt {

llvm::DenseSet<const Value*> forward_values(const Graph& graph) {
  llvm::SmallVector<const Value*, 32> open;
  for (const Graph::Output& output : graph.outputs)
    if (output.value->node()->phase == Phase::forward) open.push_back(output.value);
  for (const auto& node : graph.nodes())
    if (node->is(Op::update) && node->phase == Phase::forward)
      open.append(node->operands().begin(), node->operands().end());
  llvm::DenseSet<const Value*> found;
  while (!open.empty()) {
    const Value* value = open.pop_back_val();
    if (!found.insert(value).second) continue;
    const auto operands = value->node()->operands();
    open.append(operands.begin(), operands.end());
  }
  return found;
}

}  // namespace smelt
