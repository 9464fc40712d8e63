#include "passes/graph/simplify/simplify.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "passes/expressions.h"

namespace smelt {
namespace {

bool is_narrow(DType type) {
  return !is_float(type) && type != DType::boolean && size_of(type) < size_of(DType::i32);
}

/// Returns whether the result may be a number that none of the operands' type is.
bool leaves_type(const Node& node) {
  if (node.is(Op::reduce)) return node.is(ReduceOp::add);
  static constexpr ScalarOp kArithmetic[] = {ScalarOp::add, ScalarOp::sub, ScalarOp::mul,
                                             ScalarOp::div, ScalarOp::neg, ScalarOp::abs};
  return node.is(Op::pointwise) && llvm::is_contained(kArithmetic, node.scalar_op);
}

void widen(Graph& graph, Node* node) {
  const DType type = node->result()->dtype();
  GraphBuilder b(graph, node);
  b.set_source(node->source);
  Value* narrow = nullptr;
  {
    const InheritMarks marks(graph, node, *node);
    llvm::SmallVector<Value*, 2> operands;
    for (Value* operand : node->operands()) operands.push_back(b.convert(operand, DType::i32));
    Value* wide = node->is(Op::reduce) ? b.sum(operands[0], node->get(attr::axes))
                                       : b.pointwise(node->scalar_op, operands);
    narrow = b.convert(wide, type);
  }
  narrow->name = node->result()->name;
  graph.replace_all_uses(node->result(), narrow);
  graph.erase(node);
}

}  // namespace

bool decompose_narrow(Graph& graph) {
  llvm::SmallVector<Node*, 8> found;
  for (const auto& node : graph.nodes())
    if (leaves_type(*node) && is_narrow(node->result()->dtype())) found.push_back(node.get());
  for (Node* node : found) widen(graph, node);
  return !found.empty();
}

}  // namespace smelt
