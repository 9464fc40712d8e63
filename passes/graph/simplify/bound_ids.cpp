#include "passes/graph/simplify/bound_ids.h"

#include <algorithm>

#include "ir/analysis/index_ranges.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/analysis.h"
#include "passes/expressions.h"

namespace smelt {
namespace {

using Range = std::optional<IdRange>;

bool is_integer(DType type) { return !is_float(type) && type != DType::boolean; }

/// Returns the intersection.
Range narrowest(const Range& a, const Range& b) {
  if (!a || !b) return a ? a : b;
  return IdRange{std::min(a->below, b->below), a->ignored == b->ignored ? a->ignored : std::nullopt,
                 std::max(a->least, b->least)};
}

/// Returns the union; nothing if it is no range.
Range widest(const Range& a, const Range& b) {
  if (!a || !b) return std::nullopt;
  if (a->ignored && b->ignored && *a->ignored != *b->ignored) return std::nullopt;
  return IdRange{std::max(a->below, b->below), a->ignored ? a->ignored : b->ignored,
                 std::min(a->least, b->least)};
}

Range rows_of(const Value* table, int64_t axis) {
  const auto rows = table->shape()[static_cast<size_t>(axis)].constant();
  return rows && *rows > 0 ? Range(IdRange{*rows}) : std::nullopt;
}

/// The number that `comparison` compares `value` with.
std::optional<int64_t> compared_with(const Node& comparison, const Value* value) {
  const bool first = comparison.operand(0) == value;
  if (!first && comparison.operand(1) != value) return std::nullopt;
  return whole_splat(comparison.operand(first ? 1 : 0));
}

class Ranges {
 public:
  explicit Ranges(const Graph& graph) {
    for (const auto& node : llvm::reverse(graph.nodes()))
      for (const auto& result : node->results())
        if (is_integer(result->dtype())) ranges_[result.get()] = of_users(*result);
  }
  Range at(const Value* value) const { return ranges_.lookup(value); }

 private:
  /// All uses of the whole value hold at once; uses of parts count only if there are no others.
  Range of_users(const Value& value) const {
    Range whole, parts;
    bool only_parts = !value.node()->graph().is_output(&value), first = true;
    for (const Node* user : value.users()) {
      if (user->is(Op::slice)) {
        parts = std::exchange(first, false) ? at(user->result()) : widest(parts, at(user->result()));
        continue;
      }
      only_parts = false;
      for (unsigned i = 0; i < user->operands().size(); ++i)
        if (user->operand(i) == &value) whole = narrowest(whole, of_use(*user, i));
    }
    return only_parts ? parts : whole;
  }

  Range of_use(const Node& user, unsigned operand) const {
    if (is_view(user) || user.is(Op::concat)) return at(user.result());
    if (wraps_around(user)) return std::nullopt;
    if (user.is(Op::convert)) return at(user.result());
    switch (user.op()) {
      case Op::gather:
        return operand == 1 ? rows_of(user.operand(0), user.get(attr::axis)) : std::nullopt;
      case Op::embedding:
        return operand == 1 ? rows_of(user.operand(0), 0) : std::nullopt;
      case Op::cross_entropy:
        return operand == 1 ? of_targets(user) : std::nullopt;
      case Op::pointwise:
        if (user.is(ScalarOp::add)) return of_summand(user, operand);
        return user.is(ScalarOp::select) && operand > 0 ? of_selected(user, operand) : std::nullopt;
      default:
        return std::nullopt;
    }
  }

  /// Returns whether other numbers than the index may give it: sums of narrow types, and what is converted to
  /// one.
  static bool wraps_around(const Node& user) {
    if (!user.is(ScalarOp::add) && !user.is(Op::convert)) return false;
    const int64_t bytes = size_of(user.result()->dtype());
    if (bytes >= size_of(DType::i32)) return false;
    return user.is(ScalarOp::add) || bytes < size_of(user.operand(0)->dtype());
  }

  static Range of_targets(const Node& loss) {
    Range range = rows_of(loss.operand(0), loss.operand(0)->rank() - 1);
    if (range && loss.has(attr::ignore_index)) range->ignored = loss.get(attr::ignore_index);
    return range;
  }

  /// Returns the range of x in x + k with k >= 0, such as positions that begin after other rows.
  Range of_summand(const Node& sum, unsigned operand) const {
    Range range = at(sum.result());
    const auto offset = whole_splat(sum.operand(1 - operand));
    if (!range || !offset || *offset < 0 || range->below <= *offset) return std::nullopt;
    range->below -= *offset, range->least -= *offset;
    if (range->ignored) *range->ignored -= *offset;
    return range;
  }

  /// select(x < 0, x + k, x), with k rows: negative numbers count from the end.
  static bool counts_from_end(const Node& select, int64_t rows) {
    const Node &condition = *select.operand(0)->node(), &sum = *select.operand(1)->node();
    const Value* x = select.operand(2);
    if (!condition.is(ScalarOp::lt) || condition.operand(0) != x || !sum.is(ScalarOp::add)) return false;
    return whole_splat(condition.operand(1)) == 0 && sum.operand(0) == x &&
           whole_splat(sum.operand(1)) == rows;
  }

  /// select(ne(x, k), x, ...) and select(eq(x, k), ..., x): k does not get through.
  Range of_selected(const Node& select, unsigned operand) const {
    const Node& condition = *select.operand(0)->node();
    Range range = at(select.result());
    if (range && operand == 2 && !range->ignored && range->least == 0 &&
        counts_from_end(select, range->below))
      return IdRange{.below = range->below, .ignored = {}, .least = -range->below};
    if (!range || !condition.is(operand == 1 ? ScalarOp::ne : ScalarOp::eq)) return std::nullopt;
    const auto kept_out = compared_with(condition, select.operand(operand));
    if (!kept_out || (range->ignored && range->ignored != kept_out)) return std::nullopt;
    range->ignored = kept_out;
    return range;
  }

  llvm::DenseMap<const Value*, Range> ranges_;
};

/// Returns whether all targets are classes, or the number that is ignored.
bool are_classes(const Node& loss, IndexRange targets) {
  if (loss.has(attr::ignore_index) && targets.beside == loss.get(attr::ignore_index)) targets.beside.reset();
  return targets.within(loss.operand(0)->shape().back(), loss.graph().module().symbols);
}

/// The targets, each of which is looked up among the classes unless it is ignored.
Value* checked_targets(GraphBuilder& b, const Node& loss) {
  Value* targets = loss.operand(1);
  Value* classes = b.iota({targets->dtype(), {loss.operand(0)->shape().back()}}, 0);
  if (!loss.has(attr::ignore_index)) return b.gather(classes, targets, 0);
  Value* ignored = b.like(targets, static_cast<double>(loss.get(attr::ignore_index)));
  Value* counted = b.ne(targets, ignored);
  Value* looked_up = b.gather(classes, b.select(counted, targets, b.like(targets, 0)), 0);
  return b.select(counted, looked_up, ignored);
}

bool check_targets(Graph& graph) {
  const IndexRanges ranges(graph);
  bool changed = false;
  for (Node* loss : nodes_of(graph, Op::cross_entropy)) {
    if (are_classes(*loss, ranges.at(loss->operand(1)))) continue;
    const InheritMarks marks(graph, loss, *loss);
    GraphBuilder b(graph, loss);
    b.set_source(loss->source);
    loss->set_operand(1, checked_targets(b, *loss));
    changed = true;
  }
  return changed;
}

}  // namespace

bool bound_ids(Graph& graph, const BoundIdsOptions&) {
  const Ranges ranges(graph);
  bool changed = false;
  for (Node* input : graph.inputs()) {
    const Range known = id_range(*input), range = narrowest(known, ranges.at(input->result()));
    if (range == known) continue;
    set_id_range(*input, *range);
    changed = true;
  }
  return check_targets(graph) || changed;
}

}  // namespace smelt
