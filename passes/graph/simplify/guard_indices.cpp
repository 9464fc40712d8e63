#include "passes/graph/simplify/guard_indices.h"

#include <fmt/format.h>

#include <map>

#include "ir/analysis/index_ranges.h"
#include "ir/graph/insertion.h"
#include "passes/analysis.h"
#include "passes/expressions.h"
#include "runtime/base/error.h"
#include "runtime/session/index_faults.h"

namespace smelt {
namespace {

/// One operand that indexes something, and how many places there are.
struct Indexing {
  Node& node;
  unsigned operand;
  Dim rows;
  std::string_view prefix;  // of the state that notes faults
};

/// The table that a gather reads and a scatter writes to: how many rows are along its axis.
Indexing indexing_of(Node& node) {
  return {node, 1, node.operand(0)->shape()[static_cast<size_t>(node.get(attr::axis))],
          node.is(Op::gather) ? kIndexFaultPrefix : kDroppedIndexPrefix};
}

class Guard {
 public:
  Guard(Graph& graph, const Indexing& indexing)
      : indexing_(indexing), b_(graph, &indexing.node), rows_(indexing.rows) {
    b_.set_source(indexing.node.source);
    indices_ = b_.convert(indexing.node.operand(indexing.operand), DType::i32);
    last_ = last_row();
  }

  /// The indices, each moved to the nearest row.
  Value* moved() {
    Value* least = b_.max(indices_, b_.like(indices_, 0));
    return b_.min(least, everywhere(b_, last_, indices_->shape()));
  }

  /// The indices, but a negative one for those that are too large.
  Value* left_out() {
    Value* last = everywhere(b_, last_, indices_->shape());
    return b_.select(b_.le(indices_, last), indices_, b_.like(indices_, -1));
  }

  /// A negative index is none where it means that something is left out.
  void ignore_negative() { lowest_ = b_.scalar(0, DType::i32); }

  void note_fault() {
    Value* before = b_.state(new_state());
    const auto old = [&](int64_t i) { return b_.slice(before, 0, i, 1); };
    const auto as_row = [&](Value* x) { return b_.reshape(x, {1}); };
    if (!lowest_) lowest_ = extreme(ReduceOp::min);
    Value* lowest = b_.min(as_row(lowest_), old(0));
    Value *high = extreme(ReduceOp::max), *none = b_.like(high, 0);
    Value* highest = b_.max(as_row(b_.select(b_.gt(high, last_), high, none)), old(1));
    b_.create(Op::update, {b_.concat({lowest, highest, as_row(last_)}, 0)}, {attr::state(state_)});
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
        fmt::format("{}@{} {}", indexing_.prefix, indexing_.node.graph().name, indexing_.node.describe());
    state_ = name;
    for (int i = 2; module.find_state(state_); ++i) state_ = fmt::format("{} {}", name, i);
    module.states.push_back(
        {.name = state_, .role = Role::fault, .dtype = DType::i32, .shape = {3}, .init = {}});
    return state_;
  }

  const Indexing& indexing_;
  GraphBuilder b_;
  Dim rows_;
  Value *indices_, *last_, *lowest_ = nullptr;
  std::string state_;
};

[[noreturn]] void refuse(const Indexing& indexing, int64_t index) {
  const Node& node = indexing.node;
  fail("{}: the index {} is out of bounds: expected 0 to {}, the rows along {} of its table {}",
       node.describe(), index, (indexing.rows - Dim(1)).str(),
       node.has(attr::axis) ? fmt::format("axis {}", node.get(attr::axis)) : "an axis",
       str(node.operand(0)->type));
}

/// Returns whether it is not proven that all indices in the range are rows. Throws Error where one surely is
/// none.
bool needs_guard(const Indexing& indexing, const IndexRange& range) {
  if (range.within(indexing.rows, indexing.node.graph().module().symbols)) return false;
  if (indexing.rows.is_zero())
    fail("{}: its table {} has no rows along axis {}: expected at least one", indexing.node.describe(),
         str(indexing.node.operand(0)->type), indexing.node.get(attr::axis));
  if (const auto wrong = range.surely_outside(indexing.rows)) refuse(indexing, *wrong);
  return true;
}

/// Returns the range without negative indices, whose elements an insert omits.
IndexRange without_negative(IndexRange range) {
  if (range.beside && *range.beside < 0) range.beside.reset();
  if (range.least < 0) range.least = 0, range.attained = false;
  range.most = std::max<int64_t>(range.most, 0);
  return range;
}

/// Guarded indices, by what they were and how many places there are.
using Guarded = std::map<std::pair<const Value*, Dim>, Value*>;

void guard_insert(Graph& graph, Node& insert, const IndexRanges& ranges, Guarded& guarded) {
  const auto indexed = indexed_axes(insert);
  for (unsigned i = 0; i < indexed.size(); ++i) {
    const Indexing indexing{insert, i + 2, places_along(insert.result()->shape(), insert, indexed[i]),
                            kDroppedIndexPrefix};
    if (!needs_guard(indexing, without_negative(ranges.at(indexed[i].index)))) continue;
    Value*& indices = guarded[{indexed[i].index, indexing.rows}];
    if (!indices) {
      const InheritMarks marks(graph, &insert, insert);
      Guard guard(graph, indexing);
      guard.ignore_negative();
      guard.note_fault();
      indices = guard.left_out();
    }
    insert.set_operand(i + 2, indices);
  }
}

/// Records the invalid indices of a scatter, which omits them itself.
void note_left_out(Graph& graph, Node& scatter, const IndexRanges& ranges, Guarded& guarded) {
  if (scatter.get(attr::leaves_out)) return;
  const Indexing indexing = indexing_of(scatter);
  if (!needs_guard(indexing, ranges.at(scatter.operand(1)))) return;
  if (!guarded.try_emplace({scatter.operand(1), indexing.rows}, nullptr).second) return;
  const InheritMarks marks(graph, &scatter, scatter);
  Guard(graph, indexing).note_fault();
}

/// Row i of 0, 1, 2, ... is i: such a look-up is there for its bounds alone, which are checked by now.
bool leave_out_identities(Graph& graph) {
  bool changed = false;
  for (Node* gather : nodes_of(graph, Op::gather)) {
    if (!gather->operand(0)->node()->is(Op::iota) || gather->operand(0)->rank() != 1) continue;
    GraphBuilder b(graph, gather);
    b.set_source(gather->source);
    graph.replace_all_uses(gather->result(), b.convert(gather->operand(1), gather->result()->dtype()));
    graph.erase(gather);
    changed = true;
  }
  if (changed) graph.prune();
  return changed;
}

}  // namespace

bool guard_indices(Graph& graph, const GuardIndicesOptions&) {
  const IndexRanges ranges(graph);
  Guarded guarded, of_inserts;
  for (Node* gather : nodes_of(graph, Op::gather)) {
    const Indexing indexing = indexing_of(*gather);
    if (!needs_guard(indexing, ranges.at(gather->operand(1)))) continue;
    Value*& indices = guarded[{gather->operand(1), indexing.rows}];
    if (!indices) {
      const InheritMarks marks(graph, gather, *gather);
      Guard guard(graph, indexing);
      guard.note_fault();
      indices = guard.moved();
    }
    gather->set_operand(1, indices);
  }
  for (const Op op : {Op::scatter_add, Op::scatter})
    for (Node* scatter : nodes_of(graph, op)) note_left_out(graph, *scatter, ranges, guarded);
  for (Node* insert : nodes_of(graph, Op::insert)) guard_insert(graph, *insert, ranges, of_inserts);
  const bool changed = leave_out_identities(graph);
  return changed || !guarded.empty() || !of_inserts.empty();
}

}  // namespace smelt
