#include "passes/simplify/guard_indices.h"

#include <fmt/format.h>

#include <map>

#include "ir/analysis/index_ranges.h"
#include "passes/analysis.h"
#include "passes/expressions.h"
#include "runtime/error.h"
#include "runtime/index_faults.h"

namespace smelt {
namespace {

/// The table that a gather reads and a scatter_add adds to: how many rows are along its axis.
Dim rows_of(const Node& node) { return node.operand(0)->shape()[static_cast<size_t>(node.int_attr("axis"))]; }

/// Of a gather or a scatter_add.
class Guard {
 public:
  Guard(Graph& graph, Node& node) : node_(node), b_(graph, &node), rows_(rows_of(node)) {
    b_.set_source(node.source);
    indices_ = b_.convert(node.operand(1), DType::i32);
    last_ = last_row();
  }

  /// The indices, each moved to the nearest row.
  Value* moved() {
    Value* least = b_.max(indices_, b_.like(indices_, 0));
    return b_.min(least, everywhere(b_, last_, indices_->shape()));
  }

  void note_fault() {
    Value* before = b_.state(new_state());
    const auto old = [&](int64_t i) { return b_.slice(before, 0, i, 1); };
    const auto as_row = [&](Value* x) { return b_.reshape(x, {1}); };
    Value* lowest = b_.min(as_row(extreme(ReduceOp::min)), old(0));
    Value *high = extreme(ReduceOp::max), *none = b_.like(high, 0);
    Value* highest = b_.max(as_row(b_.select(b_.gt(high, last_), high, none)), old(1));
    b_.create(Op::update, {b_.concat({lowest, highest, as_row(last_)}, 0)}, {{"state", state_}});
  }

 private:
  /// rows - 1, which only a launch knows where the rows are symbolic.
  Value* last_row() {
    const auto rows = rows_.constant();
    if (rows) return b_.scalar(static_cast<double>(*rows - 1), DType::i32);
    return b_.reduce(ReduceOp::max, b_.iota({DType::i32, {rows_}}, 0), {0});
  }

  Value* extreme(ReduceOp op) {
    if (indices_->rank() == 0) return indices_;
    return b_.reduce(op, indices_, leading_axes(indices_->rank()));
  }

  const std::string& new_state() {
    Module& module = b_.module();
    const std::string name =
        fmt::format("{}@{} {}", node_.is(Op::gather) ? kIndexFaultPrefix : kDroppedIndexPrefix,
                    node_.graph().name, node_.describe());
    state_ = name;
    for (int i = 2; module.find_state(state_); ++i) state_ = fmt::format("{} {}", name, i);
    module.states.push_back(
        {.name = state_, .role = Role::fault, .dtype = DType::i32, .shape = {3}, .init = {}});
    return state_;
  }

  Node& node_;
  GraphBuilder b_;
  Dim rows_;
  Value *indices_, *last_;
  std::string state_;
};

[[noreturn]] void refuse(const Node& node, int64_t index, const Dim& rows) {
  fail("{}: the index {} is out of bounds: expected 0 to {}, the rows along axis {} of its table {}",
       node.describe(), index, (rows - Dim(1)).str(), node.int_attr("axis"), str(node.operand(0)->type));
}

/// Whether it is not proven that all indices are rows. Throws Error where one surely is none.
bool needs_guard(const Node& node, const IndexRanges& ranges) {
  const Dim rows = rows_of(node);
  const IndexRange range = ranges.at(node.operand(1));
  if (range.within(rows)) return false;
  if (rows.is_zero())
    fail("{}: its table {} has no rows along axis {}: expected at least one", node.describe(),
         str(node.operand(0)->type), node.int_attr("axis"));
  if (const auto wrong = range.surely_outside(rows)) refuse(node, *wrong, rows);
  return true;
}

}  // namespace

bool guard_indices(Graph& graph, const GuardIndicesOptions&) {
  const IndexRanges ranges(graph);
  std::map<std::pair<const Value*, Dim>, Value*> guarded;
  for (Node* gather : nodes_of(graph, Op::gather)) {
    if (!needs_guard(*gather, ranges)) continue;
    Value*& indices = guarded[{gather->operand(1), rows_of(*gather)}];
    if (!indices) {
      const InheritMarks marks(graph, gather, *gather);
      Guard guard(graph, *gather);
      guard.note_fault();
      indices = guard.moved();
    }
    gather->set_operand(1, indices);
  }
  for (Node* scatter : nodes_of(graph, Op::scatter_add)) {
    if (!needs_guard(*scatter, ranges)) continue;
    if (!guarded.try_emplace({scatter->operand(1), rows_of(*scatter)}, nullptr).second) continue;
    const InheritMarks marks(graph, scatter, *scatter);
    Guard(graph, *scatter).note_fault();
  }
  return !guarded.empty();
}

}  // namespace smelt
