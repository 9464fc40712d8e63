#include "passes/axes/sink_concats.h"

#include <utility>

#include "ir/builder.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/analysis.h"
#include "passes/axes/elementwise.h"
#include "passes/expressions.h"

namespace smelt {
namespace {

bool is_only_read_by(const Value* value, const Node* reader) {
  return !value->node()->graph().is_output(value) &&
         llvm::all_of(value->users(), [&](const Node* user) { return user == reader; });
}

struct Part {
  int64_t axis;
  Dim begin, length;
};

/// Elements of `value` along an axis, computed from those of what it was made of. `reader` is its only one
/// where it is computed again.
Value* part_of(GraphBuilder& b, Value* value, const Node* reader, const Part& part);

Value* part_of_broadcast(GraphBuilder& b, const Node& node, const Part& part) {
  const auto& axes = node.ints_attr("axes");
  Shape shape = node.result()->shape();
  shape[part.axis] = part.length;
  const auto along = llvm::find(axes, part.axis);
  Value* operand = node.operand(0);
  if (along != axes.end()) operand = b.slice(operand, along - axes.begin(), part.begin, part.length);
  return b.broadcast(operand, axes, shape);
}

/// The operand of the concat that is the part; null where none is.
Value* part_of_concat(const Node& node, const Part& part) {
  if (node.int_attr("axis") != part.axis) return nullptr;
  Dim begin = 0;
  for (Value* operand : node.operands()) {
    const Dim& length = operand->shape()[part.axis];
    if (begin == part.begin && length == part.length) return operand;
    begin += length;
  }
  return nullptr;
}

/// The operation on parts of its operands.
Value* on_part(GraphBuilder& b, const Node& node, const Part& part) {
  llvm::SmallVector<Value*, 3> operands;
  for (Value* operand : node.operands()) operands.push_back(part_of(b, operand, &node, part));
  return on_operands(b, node, operands);
}

Value* part_of(GraphBuilder& b, Value* value, const Node* reader, const Part& part) {
  const Node& node = *value->node();
  if (node.is(Op::broadcast)) return part_of_broadcast(b, node, part);
  Value* piece = node.is(Op::concat) ? part_of_concat(node, part) : nullptr;
  if (piece) return piece;
  if (works_on_elements(node) && is_only_read_by(value, reader)) return on_part(b, node, part);
  return b.slice(value, part.axis, part.begin, part.length);
}

/// Whether the value is computed, element by element, from a slice along the axis.
bool is_from_slice(const Value* value, int64_t axis) {
  const Node& node = *value->node();
  if (node.is(Op::slice)) return node.int_attr("axis") == axis;
  return works_on_elements(node) &&
         llvm::any_of(node.operands(), [&](const Value* operand) { return is_from_slice(operand, axis); });
}

bool may_sink(const Node& concat) {
  const int64_t axis = concat.int_attr("axis");
  const auto reads = [](const Node* user) { return works_on_elements(*user); };
  if (concat.graph().is_output(concat.result()) || !llvm::all_of(concat.result()->users(), reads))
    return false;
  return llvm::all_equal(concat.operands()) ||
         llvm::all_of(concat.operands(), [&](const Value* part) { return is_from_slice(part, axis); });
}

const Node* sinking_concat(const Node& node) {
  if (!works_on_elements(node)) return nullptr;
  for (const Value* operand : node.operands())
    if (operand->node()->is(Op::concat) && may_sink(*operand->node())) return operand->node();
  return nullptr;
}

/// The operation on each part of the concat, for which slices of it need no memory.
Value* sunk(GraphBuilder& b, const Node& node, const Node& concat) {
  Part part{concat.int_attr("axis"), 0, 0};
  llvm::SmallVector<Value*, 3> parts;
  for (const Value* piece : concat.operands()) {
    part.length = piece->shape()[part.axis];
    parts.push_back(on_part(b, node, part));
    part.begin += part.length;
  }
  return b.concat(parts, part.axis);
}

}  // namespace

bool sink_concats(Graph& graph, const SinkConcatsOptions&) {
  bool changed = false;
  std::vector<Node*> nodes;
  for (const auto& node : graph.nodes()) nodes.push_back(node.get());
  for (Node* node : nodes)
    if (const Node* concat = sinking_concat(*node)) {
      GraphBuilder b(graph, node);
      const InheritMarks marks(graph, node, *node);
      b.set_source(node->source);
      Value* whole = sunk(b, *node, *concat);
      whole->name = std::exchange(node->result()->name, "");
      graph.replace_all_uses(node->result(), whole);
      changed = true;
    }
  graph.prune();
  return changed;
}

}  // namespace smelt
