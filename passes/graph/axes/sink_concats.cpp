#include "passes/graph/axes/axes_passes.h"

#include <utility>

#include "ir/graph/builder.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/analysis.h"
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

/// The operand of the concat that is the part; null where none is.
Value* part_of_concat(const Node& node, const Part& part) {
  if (node.get(attr::axis) != part.axis) return nullptr;
  Dim begin = 0;
  for (Value* operand : node.operands()) {
    const Dim& length = operand->shape()[part.axis];
    if (begin == part.begin && length == part.length) return operand;
    begin += length;
  }
  return nullptr;
}

/// Elements of values along an axis, computed from those of what the values were made of; each once, however
/// often its reader names it.
class PartOfValues {
 public:
  PartOfValues(GraphBuilder& b, Part part) : b_(b), part_(std::move(part)) {}

  /// The operation, which works on elements, on parts of its operands.
  Value* on_part(const Node& node) {
    llvm::SmallVector<Value*, 3> operands;
    for (Value* operand : node.operands()) operands.push_back(part_of(operand, node));
    return on_operands(b_, node, operands);
  }

 private:
  /// The value is computed again where `reader` is its only one.
  Value* part_of(Value* value, const Node& reader) {
    if (Value* known = made_.lookup(value)) return known;
    Value* made = make(value, reader);
    return made_[value] = made;
  }

  Value* make(Value* value, const Node& reader) {
    const Node& node = *value->node();
    if (node.is(Op::broadcast)) return part_of_broadcast(node);
    Value* piece = node.is(Op::concat) ? part_of_concat(node, part_) : nullptr;
    if (piece) return piece;
    if (works_on_elements(node) && is_only_read_by(value, &reader)) return on_part(node);
    return b_.slice(value, part_.axis, part_.begin, part_.length);
  }

  Value* part_of_broadcast(const Node& node) {
    const auto& axes = node.get(attr::axes);
    Shape shape = node.result()->shape();
    shape[part_.axis] = part_.length;
    const auto along = llvm::find(axes, part_.axis);
    Value* operand = node.operand(0);
    if (along != axes.end()) operand = b_.slice(operand, along - axes.begin(), part_.begin, part_.length);
    return b_.broadcast(operand, axes, shape);
  }

  GraphBuilder& b_;
  Part part_;
  llvm::DenseMap<const Value*, Value*> made_;
};

/// Which values are computed, element by element, from slices along an axis.
class FromSlices {
 public:
  explicit FromSlices(int64_t axis) : axis_(axis) {}

  bool operator()(const Value* value) {
    const auto [known, is_new] = known_.try_emplace(value, false);
    if (!is_new) return known->second;
    const bool found = find(*value->node());
    return known_[value] = found;
  }

 private:
  bool find(const Node& node) {
    if (node.is(Op::slice)) return node.get(attr::axis) == axis_;
    return works_on_elements(node) &&
           llvm::any_of(node.operands(), [&](const Value* operand) { return (*this)(operand); });
  }

  int64_t axis_;
  llvm::DenseMap<const Value*, bool> known_;
};

bool may_sink(const Node& concat) {
  const auto reads = [](const Node* user) { return works_on_elements(*user); };
  const Value* whole = concat.result();
  if (whole->sharding || concat.graph().is_output(whole) || !llvm::all_of(whole->users(), reads))
    return false;
  FromSlices is_from_slice(concat.get(attr::axis));
  return llvm::all_equal(concat.operands()) ||
         llvm::all_of(concat.operands(), [&](const Value* part) { return is_from_slice(part); });
}

const Node* sinking_concat(const Node& node) {
  if (!works_on_elements(node)) return nullptr;
  for (const Value* operand : node.operands())
    if (operand->node()->is(Op::concat) && may_sink(*operand->node())) return operand->node();
  return nullptr;
}

/// The operation on each part of the concat, for which slices of it need no memory.
Value* sunk(GraphBuilder& b, const Node& node, const Node& concat) {
  Part part{concat.get(attr::axis), 0, 0};
  llvm::SmallVector<Value*, 3> parts;
  for (const Value* piece : concat.operands()) {
    part.length = piece->shape()[part.axis];
    parts.push_back(PartOfValues(b, part).on_part(node));
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
