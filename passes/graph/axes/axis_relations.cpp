#include "passes/graph/axes/axis_relations.h"

#include "llvm/ADT/STLExtras.h"

namespace smelt {
namespace {

/// An attention reads keys and values where a table has them, by a number for each row of them.
bool is_read_in_place(const Node& gather) {
  const auto& users = gather.result()->users();
  return !users.empty() && llvm::all_of(users, [](const Node* user) { return user->is(Op::attention); });
}

}  // namespace

AxisRelations::AxisRelations(const Graph& graph) {
  for (const auto& node : graph.nodes())
    for (const auto& result : node->results()) {
      Axes& axes = axes_[result.get()];
      for (const Dim& extent : result->shape()) axes.push_back(classes.add(extent));
    }
  for (const auto& node : graph.nodes()) {
    const bool is_shared =
        llvm::any_of(node->results(), [](const auto& r) { return r->sharding.has_value(); });
    if (!is_shared && relate(*node)) relates_.insert(node.get());
  }
}

bool AxisRelations::is_split(const Value* value) const {
  return llvm::any_of(axes(value), [&](int axis) { return classes.is_split(axis); });
}

bool AxisRelations::relate(const Node& node) {
  switch (node.op()) {
    case Op::constant:
      return node.has(attr::value);
    case Op::iota:
      if (!node.result()->shape()[node.get(attr::axis)].is_one())
        classes.pin(axes(node.result())[node.get(attr::axis)]);
      return true;
    case Op::random:
    case Op::dropout:
      // Numbers are drawn by row and column, and a part of a draw is counted along each of its axes.
      if (llvm::any_of(node.attributes,
                       [](const auto& a) { return a.first != attr::id.text && a.first != attr::p.text; }))
        return false;
      pin_last(node.result());
      return relate_same(node), true;
    case Op::pointwise:
    case Op::convert:
    case Op::stop_gradient:
    case Op::gelu:
    case Op::gelu_tanh:
    case Op::silu:
    case Op::with_slopes:
      return relate_same(node), true;
    case Op::softmax:
    case Op::log_softmax:
      pin_last(node.result());
      return relate_same(node), true;
    case Op::cross_entropy:
      return relate_rows(node), true;
    case Op::broadcast:
      return relate_broadcast(node), true;
    case Op::transpose:
      return relate_transpose(node), true;
    case Op::reduce:
      return relate_reduce(node), node.result_count() == 1;
    case Op::gather:
      if (is_read_in_place(node)) return false;
      return relate_gather(node), true;
    case Op::slice:
    case Op::concat:
      return relate_along(node), true;
    default:
      return false;
  }
}

void AxisRelations::pin_last(const Value* value) {
  if (value->rank() > 0) classes.pin(axes(value).back());
}

void AxisRelations::relate_same(const Node& node) {
  for (const Value* operand : node.operands()) unite_all(axes(operand), axes(node.result()));
}

void AxisRelations::relate_broadcast(const Node& node) {
  const Axes &from = axes(node.operand(0)), &to = axes(node.result());
  for (auto [i, axis] : llvm::enumerate(node.get(attr::axes))) unite(from[i], to[axis]);
}

void AxisRelations::relate_transpose(const Node& node) {
  const Axes &from = axes(node.operand(0)), &to = axes(node.result());
  for (auto [i, axis] : llvm::enumerate(node.get(attr::permutation))) unite(from[axis], to[i]);
}

/// Rows are reduced along one axis, as wide as it is; numbers of places, or of one element, stay what they
/// are.
void AxisRelations::relate_reduce(const Node& node) {
  const auto& reduced = node.get(attr::axes);
  const Axes& from = axes(node.operand(0));
  Axes kept;
  for (auto [i, axis] : llvm::enumerate(from))
    if (!llvm::is_contained(reduced, static_cast<int64_t>(i)))
      kept.push_back(axis);
    else if (!node.is(ReduceOp::add) || (reduced.size() < from.size() && i + 1 == from.size()))
      classes.pin(axis);
  for (const auto& result : node.results()) unite_all(kept, axes(result.get()));
}

void AxisRelations::relate_gather(const Node& node) {
  const Axes &table = axes(node.operand(0)), &index = axes(node.operand(1));
  const int64_t axis = node.get(attr::axis);
  Axes expected(table.begin(), table.begin() + axis);
  expected.append(index.begin(), index.end());
  expected.append(table.begin() + axis + 1, table.end());
  classes.pin(table[axis]);
  unite_all(expected, axes(node.result()));
}

/// Parts along an axis, which stays whole.
void AxisRelations::relate_along(const Node& node) {
  const int64_t along = node.get(attr::axis);
  const Axes& to = axes(node.result());
  for (const Value* operand : node.operands())
    for (auto [i, axis] : llvm::enumerate(axes(operand)))
      if (static_cast<int64_t>(i) != along)
        unite(axis, to[i]);
      else
        classes.pin(axis), classes.pin(to[i]);
}

/// A target and a loss for each row of logits.
void AxisRelations::relate_rows(const Node& node) {
  const llvm::ArrayRef<int> rows = llvm::ArrayRef(axes(node.operand(0))).drop_back();
  pin_last(node.operand(0));
  unite_all(rows, axes(node.operand(1)));
  unite_all(rows, axes(node.result()));
}

}  // namespace smelt
