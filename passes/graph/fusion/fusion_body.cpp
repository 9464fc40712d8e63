#include "passes/graph/fusion/fusion_body.h"

#include <fmt/format.h>

#include "llvm/ADT/STLExtras.h"

namespace smelt {
namespace {

bool same_computation(const Node& a, const Node& b) {
  return a.op() == b.op() && a.scalar_op == b.scalar_op && a.attributes == b.attributes &&
         a.phase == b.phase && a.anchored == b.anchored && a.result()->type == b.result()->type;
}

/// Inputs first, in the order of the operands.
void hoist_inputs(Graph& body) {
  const std::vector<Node*> inputs = body.inputs();
  for (Node* input : llvm::reverse(inputs))
    if (body.nodes().front().get() != input) body.move_before(input, body.nodes().front().get());
}

}  // namespace

void FusionBody::add(const Node& node, const IterationSpace& space, bool is_cheap) {
  llvm::SmallVector<Value*, 3> operands;
  for (auto [i, operand] : llvm::enumerate(node.operands())) {
    Value* inner = map_.lookup(operand);
    operands.push_back(inner ? inner : input(operand, space.operands.find(&node)->second[i]));
  }
  const IterationSpace::Axes& axes = space.results.find(node.result(0))->second;
  Node* twin = is_cheap ? equal(node, operands, axes) : nullptr;
  if (!twin) {
    twin = graph_->clone(node, operands);
    if (is_cheap) cheap_.push_back({&node, twin, axes});
  }
  for (unsigned i = 0; i < node.result_count(); ++i) map_[node.result(i)] = twin->result(i);
}

Node* FusionBody::equal(const Node& node, llvm::ArrayRef<Value*> operands,
                        const IterationSpace::Axes& axes) const {
  for (const Cheap& known : cheap_)
    if (known.axes == axes && same_computation(*known.node, node) &&
        llvm::ArrayRef<Value*>(known.twin->operands()) == operands)
      return known.twin;
  return nullptr;
}

Value* FusionBody::input(Value* outside, const IterationSpace::Axes& axes) {
  for (const Input& known : inputs_)
    if (known.outside == outside && known.axes == axes) return known.inner;
  Node* node = graph_->create(Op::input, {}, outside->type);
  node->set(attr::name, fmt::format("a{}", inputs_.size()));
  inputs_.push_back({outside, axes, node->result()});
  return node->result();
}

Node* FusionBody::finish(Graph& graph, llvm::ArrayRef<Value*> outputs, Node* before) {
  llvm::SmallVector<Value*, 8> operands;
  for (const Input& input : inputs_) operands.push_back(input.outside);
  llvm::SmallVector<Type, 4> types;
  for (auto [i, value] : llvm::enumerate(outputs)) {
    types.push_back(value->type);
    graph_->outputs.push_back({fmt::format("r{}", i), map_.lookup(value)});
  }
  Node* fusion = graph.create(Op::fusion, operands, types, before);
  hoist_inputs(*graph_);
  fusion->body = std::move(graph_);
  for (auto [i, value] : llvm::enumerate(outputs)) {
    fusion->result(i)->name = value->name;
    graph.replace_all_uses(value, fusion->result(i));
  }
  return fusion;
}

}  // namespace smelt
