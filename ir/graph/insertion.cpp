#include "ir/graph/insertion.h"

#include <algorithm>

#include "ir/analysis/uses.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/base/error.h"

namespace smelt {

llvm::SmallVector<IndexedAxis, 3> indexed_axes(const Node& node) {
  if (node.has(attr::axes) && node.has(attr::axis)) fail("give 'axis' or 'axes', not both");
  const std::vector<int64_t> axes =
      node.has(attr::axes) ? node.get(attr::axes) : std::vector<int64_t>{node.get(attr::axis)};
  const auto indices = node.operands().drop_front(node.is(Op::insert) ? 2 : 1);
  if (axes.size() != indices.size()) fail("{} axes for {} index operands", axes.size(), indices.size());
  llvm::SmallVector<IndexedAxis, 3> all;
  for (auto [axis, index] : llvm::zip(axes, indices)) {
    if (axis < 0 || axis >= inserted_value(node)->rank())
      fail("axis {} is outside {}", axis, str(inserted_value(node)->type));
    if (std::count(axes.begin(), axes.end(), axis) > 1) fail("axis {} is given twice", axis);
    all.push_back({axis, index, axis < index->rank()});
  }
  return all;
}

Dim places_along(const Shape& target, const Node& node, const IndexedAxis& indexed) {
  const Dim& all = target[indexed.axis];
  return indexed.is_place ? all : all - inserted_value(node)->shape()[indexed.axis] + 1;
}

llvm::SmallVector<const Node*, 2> insert_chain(const Node& last) {
  llvm::SmallVector<const Node*, 2> chain;
  for (const Node* node = &last; node->is(Op::insert); node = node->operand(0)->node())
    chain.insert(chain.begin(), node);
  return chain;
}

namespace {

/// Elements [first, last) of a block that begins at a constant.
struct Span {
  int64_t first, last;
};
std::optional<Span> constant_span(const Node& insert, const IndexedAxis& indexed) {
  const auto begin = splat(indexed.index);
  const auto length = inserted_value(insert)->shape()[indexed.axis].constant();
  if (!begin || !length || indexed.is_place) return std::nullopt;
  return Span{static_cast<int64_t>(*begin), static_cast<int64_t>(*begin) + *length};
}

/// Every reader has an iota of its own (passes/graph/fusion/cheap_nodes.h).
bool are_same_numbers(const Value* a, const Value* b) {
  if (a == b) return true;
  const Node &x = *a->node(), &y = *b->node();
  return x.is(Op::iota) && y.is(Op::iota) && a->type == b->type && x.attributes == y.attributes;
}

}  // namespace

bool write_apart(const Node& a, const Node& b) {
  const auto first = indexed_axes(a), second = indexed_axes(b);
  if (first.size() != second.size()) return false;
  bool apart = false;
  for (const auto& [x, y] : llvm::zip(first, second)) {
    if (x.axis != y.axis) return false;
    const auto from = constant_span(a, x), to = constant_span(b, y);
    if (from && to)
      apart |= from->last <= to->first || to->last <= from->first;
    else if (!are_same_numbers(x.index, y.index))
      return false;
  }
  return apart;
}

}  // namespace smelt
