#include "passes/graph/autodiff/differentiate_forward.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/expressions.h"
#include "passes/graph/autodiff/make_backward.h"
#include "passes/graph/autodiff/vjp.h"
#include "passes/graph/simplify/decompose.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

using TangentMap = llvm::DenseMap<const Value*, Value*>;

void push(GraphBuilder& b, Node& node, TangentMap& tangents) {
  llvm::SmallVector<Value*, 3> incoming;
  for (const Value* operand : node.operands()) incoming.push_back(tangents.lookup(operand));
  if (llvm::none_of(incoming, [](Value* t) { return t != nullptr; })) return;
  const DerivativeRule* rule = derivative_rule(node.op());
  if (!rule->forward) fail("differentiate_forward: {} has no forward rule", node.describe());
  b.set_source(node.source);
  const Forward::Tangents found = rule->forward({b, node, incoming});
  for (unsigned i = 0; i < found.size(); ++i)
    if (found[i] && is_float(node.result(i)->dtype())) tangents[node.result(i)] = found[i];
}

/// Decomposed, they would have the derivative of their values.
void refuse_stated(const Graph& graph) {
  for (const auto& node : graph.nodes())
    if (node->is(Op::custom_vjp))
      fail("differentiate_forward: {} states its derivative for reverse mode alone; run differentiate",
           node->describe());
}

}  // namespace

bool differentiate_forward(Graph& graph, const DifferentiateForwardOptions& options) {
  refuse_stated(graph);
  decompose(graph, {{Op::with_slopes}});
  const std::vector<Variable> variables = find_variables(graph, options.wrt);
  std::vector<Node*> nodes;
  for (const auto& node : graph.nodes()) nodes.push_back(node.get());

  const PhaseMark mark(graph, Phase::tangent);
  GraphBuilder b(graph);
  TangentMap tangents;
  for (const Variable& variable : variables) {
    b.set_source(variable.name);
    Value* tangent = b.input("tangent." + variable.name, variable.type);
    for (const Value* value : variable.values) tangents[value] = tangent;
  }
  for (Node* node : nodes)
    if (passes_derivatives(*node)) push(b, *node, tangents);
  const std::vector<Graph::Output> outputs = graph.outputs;
  for (const Graph::Output& output : outputs) {
    if (!is_float(output.value->dtype())) continue;
    Value* tangent = tangents.lookup(output.value);
    b.output("tangent." + output.name, tangent ? tangent : zeros(b, output.value->type));
  }
  graph.prune();
  return !variables.empty();
}

}  // namespace smelt
