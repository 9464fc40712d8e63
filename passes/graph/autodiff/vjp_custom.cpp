// The derivative that a custom_vjp states (ir/graph/custom_vjp.h). The nodes that compute its gradients from
// its cotangents stand before it; reverse differentiation copies them, with what has arrived at its results:
//
//   %g = cotangent {id = 0}                         %y = custom_vjp %f, %g, %x, %b {results = 1}
//   %b = mul %g, %c                           ->    ...
//   %y = custom_vjp %f, %g, %x, %b {results = 1}    %b2 = mul %dy, %c      (added to the cotangent of %x)
#include "ir/graph/custom_vjp.h"

#include "llvm/ADT/DenseMap.h"
#include "passes/expressions.h"
#include "passes/graph/autodiff/vjp.h"

namespace smelt {
namespace {

using Copies = llvm::DenseMap<const Value*, Value*>;

Copies arrived(const Reverse& r, const CustomVjp& parts) {
  Copies copies;
  for (unsigned i = 0; i < parts.results(); ++i)
    copies[parts.cotangent(i)] = r.g(i) ? r.g(i) : zeros(r.b, parts.value(i)->type);
  return copies;
}

void copy_node(Graph& graph, const Node& node, Copies& copies) {
  llvm::SmallVector<Value*, 4> operands;
  for (Value* operand : node.operands()) {
    Value* copy = copies.lookup(operand);
    operands.push_back(copy ? copy : operand);
  }
  const Node* copy = graph.clone(node, operands);
  for (unsigned i = 0; i < node.result_count(); ++i) copies[node.result(i)] = copy->result(i);
}

/// Copies every node before `end` that depends on what has a copy.
void copy_dependents(Graph& graph, const Node& end, Copies& copies) {
  for (const auto& node : graph.nodes()) {
    if (node.get() == &end) return;
    if (llvm::any_of(node->operands(), [&](Value* x) { return copies.contains(x); }))
      copy_node(graph, *node, copies);
  }
}

}  // namespace

void reverse_custom_vjp(const Reverse& r) {
  const CustomVjp parts(r.node);
  Copies copies = arrived(r, parts);
  copy_dependents(r.node.graph(), r.node, copies);
  for (unsigned i = 0; i < parts.inputs(); ++i) {
    Value* copy = copies.lookup(parts.gradient(i));
    r.add(parts.input_operand(i), copy ? copy : parts.gradient(i));
  }
}

}  // namespace smelt
