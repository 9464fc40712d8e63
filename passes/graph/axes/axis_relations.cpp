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

namespace {

/// Numbers of a part of a draw are counted along each of its axes.
bool draws_a_part(const Node& node) {
  return llvm::any_of(node.attributes,
                      [](const auto& a) { return a.first != attr::id.text && a.first != attr::p.text; });
}

/// Operations that a kernel computes along split axes as along whole ones. Products, windows and the like
/// have orders of axes of their own, and so have tables.
bool may_be_split(const Node& node) {
  switch (node.op()) {
    case Op::constant:
      return node.has(attr::value);
    case Op::random:
    case Op::dropout:
      return !draws_a_part(node);
    case Op::gather:
      return !is_read_in_place(node);
    case Op::insert:
      return false;
    case Op::slice:
    case Op::concat:
    case Op::gelu:
    case Op::gelu_tanh:
    case Op::silu:
    case Op::with_slopes:
    case Op::softmax:
    case Op::log_softmax:
    case Op::cross_entropy:
      return true;
    default:
      return info(node.op()).has(Trait::fusable);
  }
}

}  // namespace

bool AxisRelations::relate(const Node& node) {
  if (!may_be_split(node)) return false;
  const OpDims dims = op_dims(node);
  std::vector<Axes> along(dims.factors.size());
  const auto collect = [&](const DimFactors& factors, const Value* value) {
    for (const auto& [dim, axis] : llvm::zip(factors, axes(value))) along[dim.front()].push_back(axis);
  };
  for (const auto& [factors, operand] : llvm::zip(dims.operands, node.operands())) collect(factors, operand);
  for (const auto& [factors, result] : llvm::zip(dims.results, node.results()))
    collect(factors, result.get());
  for (const auto& [factor, same] : llvm::zip(dims.factors, along)) {
    if (factor.relation != DimRelation::placed)
      for (const int axis : same) unite(same.front(), axis);
    if (stays_whole(node, factor, same))
      for (const int axis : same) classes.pin(axis);
  }
  return node.result_count() == 1;
}

/// Numbers are drawn by row and column, and rows are summed along one axis, as wide as it is.
bool AxisRelations::stays_whole(const Node& node, const DimFactor& factor, llvm::ArrayRef<int> same) const {
  switch (factor.relation) {
    case DimRelation::carried:
      return false;
    case DimRelation::counted:
      return node.is(Op::iota) ? !factor.size.is_one() : same.back() == axes(node.result()).back();
    case DimRelation::summed:
      return node.result()->rank() > 0 && same.front() == axes(node.operand(0)).back();
    default:
      return true;
  }
}

}  // namespace smelt
