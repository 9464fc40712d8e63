#include "passes/graph/axes/axes_passes.h"

#include "ir/analysis/attention_form.h"
#include "ir/graph/builder.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/analysis.h"
#include "passes/expressions.h"

namespace smelt {
namespace {

/// The axis that a value's axis was before it was transposed.
int64_t before(const Node& transpose, int64_t axis) { return transpose.get(attr::permutation)[axis]; }

/// Returns whether the reshape only joins `axis` of its operand with the next axis.
bool joins(const Node& reshape, int64_t axis) {
  const Shape &from = reshape.operand(0)->shape(), &to = reshape.result()->shape();
  if (from.size() != to.size() + 1) return false;
  Shape joined = from;
  joined[axis] = from[axis] * from[axis + 1];
  joined.erase(joined.begin() + axis + 1);
  return joined == to;
}

/// The heads before they were repeated: the same value with fewer of them along `axis`; null where they were
/// not.
Value* before_repeating(GraphBuilder& b, Value* value, int64_t axis) {
  const Node& node = *value->node();
  if (node.is(Op::transpose)) {
    Value* single = before_repeating(b, node.operand(0), before(node, axis));
    return single ? b.transpose(single, node.get(attr::permutation)) : nullptr;
  }
  if (!node.is(Op::reshape) || !joins(node, axis)) return nullptr;
  const Node& repeat = *node.operand(0)->node();
  if (!repeat.is(Op::broadcast) || repeat.operand(0)->rank() + 1 != repeat.result()->rank()) return nullptr;
  return llvm::is_contained(repeat.get(attr::axes), axis + 1) ? nullptr : repeat.operand(0);
}

bool share(Graph& graph, Node& attention) {
  if (reads_codes(attention)) return false;
  constexpr int64_t kHeadAxis = 2;
  GraphBuilder b(graph, &attention);
  const InheritMarks marks(graph, &attention, attention);
  b.set_source(attention.source);
  Value* key = before_repeating(b, attention.operand(1), kHeadAxis);
  Value* value = before_repeating(b, attention.operand(2), kHeadAxis);
  if (!key || !value || key->shape()[kHeadAxis] != value->shape()[kHeadAxis]) return false;
  attention.set_operand(1, key), attention.set_operand(2, value);
  return true;
}

}  // namespace

bool group_query_heads(Graph& graph, const GroupQueryHeadsOptions&) {
  bool changed = false;
  for (Node* attention : nodes_of(graph, Op::attention)) changed |= share(graph, *attention);
  graph.prune();
  return changed;
}

}  // namespace smelt
