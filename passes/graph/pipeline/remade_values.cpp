#include "passes/graph/pipeline/remade_values.h"

namespace smelt {

RemadeValues::RemadeValues(const Graph& graph) : symbols_(graph.module().symbols) {
  for (const auto& node : graph.nodes()) {
    Cost cost;
    cost.multiplies = node->is(Op::matmul) || node->is(Op::attention) || node->is(Op::collective) ||
                      node->result_count() == 0;
    if (node->is(Op::parameter)) cost.parameters.insert(node.get());
    for (const Value* operand : node->operands()) {
      const Cost& before = costs_.find(operand->node())->second;
      cost.multiplies |= before.multiplies;
      // After a product the other operands do not matter.
      if (!cost.multiplies) cost.parameters.insert(before.parameters.begin(), before.parameters.end());
    }
    costs_[node.get()] = std::move(cost);
  }
}

bool RemadeValues::is_remade(const Value* value) const {
  const Cost& cost = costs_.find(value->node())->second;
  if (cost.multiplies) return false;
  if (value->node()->is(Op::parameter)) return true;
  int64_t elements = 0;
  for (const Node* parameter : cost.parameters)
    elements += symbols_.upper(element_count(parameter->result()->shape()));
  return elements <= symbols_.upper(element_count(value->shape()));
}

bool RemadeValues::is_made_of_inputs(const Value* value) const {
  const Cost& cost = costs_.find(value->node())->second;
  return !cost.multiplies && cost.parameters.empty();
}

}  // namespace smelt
