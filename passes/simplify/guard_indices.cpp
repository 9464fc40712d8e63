#include "passes/simplify/guard_indices.h"

#include <fmt/format.h>

#include <map>

#include "passes/analysis.h"
#include "passes/expressions.h"
#include "passes/simplify/index_ranges.h"
#include "runtime/error.h"
#include "runtime/index_faults.h"

namespace smelt {
namespace {

class Guard {
 public:
  Guard(Graph& graph, Node& gather) : gather_(gather), b_(graph, &gather), rows_(rows_of(gather)) {
    b_.set_source(gather.source);
    indices_ = b_.convert(gather.operand(1), DType::i32);
  }

  static Dim rows_of(const Node& gather) {
    return gather.operand(0)->shape()[static_cast<size_t>(gather.int_attr("axis"))];
  }

  /// The indices, each moved to the nearest row.
  Value* build() {
    Value* last = last_row();
    note_fault(last);
    Value* least = b_.max(indices_, b_.like(indices_, 0));
    return b_.min(least, everywhere(b_, last, indices_->shape()));
  }

 private:
  /// rows - 1, which only a launch knows where the rows are symbolic.
  Value* last_row() {
    const auto rows = rows_.constant();
    if (rows) return b_.scalar(static_cast<double>(*rows - 1), DType::i32);
    return b_.reduce(ReduceOp::max, b_.iota({DType::i32, {rows_}}, 0), {0});
  }

  void note_fault(Value* last) {
    Value* before = b_.state(new_state());
    const auto old = [&](int64_t i) { return b_.slice(before, 0, i, 1); };
    const auto as_row = [&](Value* x) { return b_.reshape(x, {1}); };
    Value* lowest = b_.min(as_row(extreme(ReduceOp::min)), old(0));
    Value *high = extreme(ReduceOp::max), *none = b_.like(high, 0);
    Value* highest = b_.max(as_row(b_.select(b_.gt(high, last), high, none)), old(1));
    b_.create(Op::update, {b_.concat({lowest, highest, as_row(last)}, 0)}, {{"state", state_}});
  }

  Value* extreme(ReduceOp op) {
    if (indices_->rank() == 0) return indices_;
    return b_.reduce(op, indices_, leading_axes(indices_->rank()));
  }

  const std::string& new_state() {
    Module& module = b_.module();
    const std::string name =
        fmt::format("{}@{} {}", kIndexFaultPrefix, gather_.graph().name, gather_.describe());
    state_ = name;
    for (int i = 2; module.find_state(state_); ++i) state_ = fmt::format("{} {}", name, i);
    module.states.push_back(
        {.name = state_, .role = Role::fault, .dtype = DType::i32, .shape = {3}, .init = {}});
    return state_;
  }

  Node& gather_;
  GraphBuilder b_;
  Dim rows_;
  Value* indices_;
  std::string state_;
};

[[noreturn]] void refuse(const Node& gather, int64_t index, const Dim& rows) {
  fail("{}: the index {} is out of bounds: expected 0 to {}, the rows along axis {} of its table {}",
       gather.describe(), index, (rows - Dim(1)).str(), gather.int_attr("axis"),
       str(gather.operand(0)->type));
}

}  // namespace

bool guard_indices(Graph& graph, const GuardIndicesOptions&) {
  const IndexRanges ranges(graph);
  std::map<std::pair<const Value*, Dim>, Value*> guarded;
  for (Node* gather : nodes_of(graph, Op::gather)) {
    const Dim rows = Guard::rows_of(*gather);
    const IndexRange range = ranges.at(gather->operand(1));
    if (range.within(rows)) continue;
    if (rows.is_zero())
      fail("{}: its table {} has no rows along axis {}: expected at least one", gather->describe(),
           str(gather->operand(0)->type), gather->int_attr("axis"));
    if (const auto wrong = range.surely_outside(rows)) refuse(*gather, *wrong, rows);
    Value*& indices = guarded[{gather->operand(1), rows}];
    if (!indices) {
      const InheritMarks marks(graph, gather, *gather);
      indices = Guard(graph, *gather).build();
    }
    gather->set_operand(1, indices);
  }
  return !guarded.empty();
}

}  // namespace smelt
