// Rules that take sums over a row apart: what waits for another sum becomes a multiple of sums that do not.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "passes/graph/reductions/reduction_rules.h"
#include "passes/graph/reductions/row_ranges.h"

namespace smelt {
namespace {

using Kind = LinearTerm::Kind;

bool is_linear_step(const Node& node) {
  static constexpr ScalarOp kSteps[] = {ScalarOp::add, ScalarOp::sub, ScalarOp::neg,
                                        ScalarOp::mul, ScalarOp::div, ScalarOp::select};
  return node.is(Op::pointwise) && llvm::is_contained(kSteps, node.scalar_op);
}

/// Does a sum over the space, in the same kernel, take the value in through linear steps?
bool feeds_sum(Value* value, const RowSpace& space, Phase phase) {
  llvm::SmallPtrSet<Node*, 16> seen;
  std::vector<Value*> work = {value};
  while (!work.empty()) {
    Value* next = work.back();
    work.pop_back();
    for (Node* user : next->users()) {
      if (user->phase != phase || !seen.insert(user).second) continue;
      if (user->is(ReduceOp::add) && reduces_over(*user, space)) return true;
      if (is_linear_step(*user) || user->is(Op::stop_gradient)) work.push_back(user->result());
    }
  }
  return false;
}

/// Is the factor 1 / n, so that the use is the mean?
bool is_mean(ReductionContext& context, const Node& sum, const Node& scaled, const RowSpace& space) {
  Value* factor = scaled.operand(scaled.operand(0) == sum.result() ? 1 : 0);
  if (scaled.is(ScalarOp::div)) factor = context.emit.div(context.emit.splat(1, factor->type), factor);
  return context.algebra(space).is_reciprocal_of_count(factor);
}

/// One use of a mean: scaled = sum * factor (or sum / factor), x - broadcast(scaled).
struct MeanUse {
  Node* scaled;
  std::vector<Node*> differences;
};

std::vector<MeanUse> mean_uses(ReductionContext& context, Node& sum, const RowSpace& space) {
  std::vector<MeanUse> uses;
  for (Node* scaled : sum.result()->users()) {
    if (!scaled->is(ScalarOp::mul) && !(scaled->is(ScalarOp::div) && scaled->operand(0) == sum.result()))
      continue;
    if (scaled->operand(0) == scaled->operand(1) || !is_mean(context, sum, *scaled, space)) continue;
    MeanUse use{scaled, {}};
    for (Node* row : scaled->result()->users()) {
      if (!row->is(Op::broadcast) || !row_broadcast(row->result(), space)) continue;
      for (Node* difference : row->result()->users())
        if (difference->is(ScalarOp::sub) && difference->operand(1) == row->result() &&
            context.numbers.same(difference->operand(0), sum.operand(0)) &&
            feeds_sum(difference->result(), space, sum.phase))
          use.differences.push_back(difference);
    }
    if (!use.differences.empty()) uses.push_back(std::move(use));
  }
  return uses;
}

/// Returns whether every reader of the value is one of `readers`.
bool is_read_by(const Graph& graph, const Value& value, llvm::ArrayRef<Node*> readers) {
  return !graph.is_output(&value) &&
         llvm::all_of(value.users(), [&](Node* user) { return llvm::is_contained(readers, user); });
}

/// Returns whether the sum, or the mean, is read by anything but the differences.
bool is_read_otherwise(const Graph& graph, const Node& sum, llvm::ArrayRef<MeanUse> uses) {
  std::vector<Node*> means;
  for (const MeanUse& use : uses) {
    means.push_back(use.scaled);
    for (Node* row : use.scaled->result()->users())
      if (row->result_count() == 0 || !is_read_by(graph, *row->result(), use.differences)) return true;
    if (graph.is_output(use.scaled->result())) return true;
  }
  return !is_read_by(graph, *sum.result(), means);
}

}  // namespace

/// Deviations in a row with an infinity are NaN with any shift, but its sum is not: where that is read, an
/// infinite sample is no shift.
bool shift_mean(ReductionContext& context, Node& node) {
  if (!node.is(ReduceOp::add) || !is_float(node.result()->dtype())) return false;
  const RowSpace space = row_space(node);
  Value* x = node.operand(0);
  if (context.emit.is_shifted(x, space)) return false;
  const std::vector<MeanUse> uses = mean_uses(context, node, space);
  if (uses.empty() || context.may_be_empty(space)) return false;
  RowEmitter& emit = context.emit;
  Value* first = emit.sample(x, space);
  if (is_read_otherwise(context.graph, node, uses)) first = emit.if_finite(first);
  Value* shifted = emit.sub(x, emit.along(first, space));
  Value* sum = emit.sum(shifted, space);
  for (const MeanUse& use : uses) {
    Value* factor = use.scaled->operand(use.scaled->operand(0) == node.result() ? 1 : 0);
    Value* mean = emit.pointwise(use.scaled->scalar_op, {sum, factor});
    Value* difference = emit.sub(shifted, emit.along(mean, space));
    for (Node* old : use.differences) context.graph.replace_all_uses(old->result(), difference);
  }
  context.record(ReductionRule::shift, node);
  context.graph.replace_all_uses(node.result(), emit.add(emit.times_count(first, space), sum));
  return true;
}

// ---- linear

namespace {

class SumOfForm {
 public:
  SumOfForm(ReductionContext& context, LinearSplitter& splitter, const Node& node)
      : context_(context),
        splitter_(splitter),
        node_(node),
        space_(row_space(node)),
        dtype_(node.result()->dtype()) {}

  /// The sum of the form. In x - m, where m is made of the largest or smallest x, x is summed with a shift
  /// and without, and the sum of the one that is nearer to m is taken: the sample is far from m where it
  /// holds masks such as -1e9, and 0 is where the row has a common offset.
  Value* of(const LinearForm& form) {
    Value* shifted = build(splitter_.shift(form));
    const auto extreme = splitter_.extreme_of(form);
    if (!extreme) return shifted;
    RowEmitter& emit = context_.emit;
    Value* sample = emit.scale(emit.shift(extreme->element, space_), extreme->factor);
    const auto size = [&](Value* value) { return emit.pointwise(ScalarOp::abs, {value}); };
    Value* nearer = emit.pointwise(ScalarOp::lt, {size(emit.sub(extreme->row, sample)), size(extreme->row)});
    return emit.pointwise(ScalarOp::select, {nearer, shifted, build(form)});
  }

  bool squares() const { return squares_; }

 private:
  Value* build(const LinearForm& form) {
    auto groups = group_by_factors(form, context_.numbers);
    is_alone_ = groups.size() == 1;
    std::ranges::stable_partition(groups,
                                  [](const auto& group) { return !counts_elements(group[0].factors); });
    Value* total = nullptr;
    for (const auto& group : groups)
      if (counts_elements(group[0].factors))
        total = with_counted(total, group);
      else if (Value* part = sum_of_group(group))
        total = total ? context_.emit.add(total, part) : part;
    return total ? total : context_.emit.splat(0, node_.result()->type);
  }
  Value* sum_of_group(llvm::ArrayRef<LinearTerm> group) {
    RowEmitter& emit = context_.emit;
    const auto& factors = group[0].factors;
    if (factors.empty()) return emit.times_count(splitter_.rows(group, dtype_), space_);
    Value* sum = sum_of_factors(factors);
    if (!sum) return nullptr;
    Value* rows = splitter_.rows(group, dtype_);
    if (auto coefficient = splat(rows)) return emit.scale(sum, *coefficient);
    const bool by_turns = group.size() == 1 && group[0].rows.size() > 1;
    Value* product = by_turns ? splitter_.times_rows(sum, group[0]) : emit.mul(sum, rows);
    if (is_never_infinite(rows)) return product;
    const auto conditions = conditions_of(factors);
    if (!conditions.empty())
      return unless_none(emit.sum(splitter_.product(conditions, dtype_), space_), product);
    return is_alone_ && factors[0].kind != Kind::square ? with_infinite(rows, factors, product) : product;
  }

  /// The sum of elements times an infinite row value is NaN where the elements have both signs, or one is 0.
  Value* with_infinite(Value* rows, llvm::ArrayRef<LinearTerm::Factor> factors, Value* product) {
    RowEmitter& emit = context_.emit;
    Value* elements = splitter_.product(factors, dtype_);
    Value* least = emit.reduce(ReduceOp::min, elements, space_)->result();
    Value* most = emit.reduce(ReduceOp::max, elements, space_)->result();
    Value* ends = emit.add(emit.mul(least, rows), emit.mul(most, rows));
    Value* infinity = emit.splat(std::numeric_limits<double>::infinity(), rows->type);
    Value* infinite = emit.pointwise(ScalarOp::eq, {emit.pointwise(ScalarOp::abs, {rows}), infinity});
    return emit.pointwise(ScalarOp::select, {infinite, ends, product});
  }

  static bool is_condition(const LinearTerm::Factor& factor) {
    return factor.kind == Kind::when || factor.kind == Kind::unless;
  }

  static llvm::SmallVector<LinearTerm::Factor, 2> conditions_of(llvm::ArrayRef<LinearTerm::Factor> factors) {
    llvm::SmallVector<LinearTerm::Factor, 2> conditions;
    llvm::copy_if(factors, std::back_inserter(conditions), is_condition);
    return conditions;
  }

  /// The product, or 0 where no element of the row meets the conditions: a row value may be infinite there.
  Value* unless_none(Value* count, Value* product) {
    RowEmitter& emit = context_.emit;
    Value* zero = emit.splat(0, count->type);
    return emit.pointwise(ScalarOp::select, {emit.pointwise(ScalarOp::eq, {count, zero}), zero, product});
  }

  /// total + count * row for each term's row value, those that are elements first: of one element x - m - log
  /// s, x - m is exact.
  Value* with_counted(Value* total, std::vector<LinearTerm> group) {
    std::ranges::stable_partition(group,
                                  [](const LinearTerm& term) { return LinearSplitter::is_element(term); });
    for (const LinearTerm& term : group) {
      Value* part = counted(sum_of_factors(term.factors), term);
      total = total ? context_.emit.add(total, part) : part;
    }
    return total;
  }

  Value* counted(Value* count, const LinearTerm& term) {
    Value* row = splitter_.rows({term}, dtype_);
    if (auto coefficient = splat(row)) return context_.emit.scale(count, *coefficient);
    return unless_none(count, context_.emit.mul(count, row));
  }

  /// Returns whether the sum of the factors is the number of elements that meet conditions.
  static bool counts_elements(llvm::ArrayRef<LinearTerm::Factor> factors) {
    return !factors.empty() && llvm::all_of(factors, is_condition);
  }

  /// Null: zero.
  Value* sum_of_factors(llvm::ArrayRef<LinearTerm::Factor> factors) {
    if (factors[0].kind == Kind::square) return sum_of_squares(factors[0]);
    Value* product = splitter_.product(factors, dtype_);
    if (context_.algebra(space_).sum_is_zero(product)) return context_.cancelled(node_, product, space_);
    return context_.emit.sum(product, space_);
  }

  /// sum (u + o)^2 = (sum u^2 - (sum u)^2 / n) + n (o + mean u)^2, no part of which is negative. An infinite
  /// u has an infinite square where o is not made of u.
  Value* sum_of_squares(const LinearTerm::Factor& square) {
    squares_ = true;
    RowEmitter& emit = context_.emit;
    Value* sum = emit.sum(square.value, space_);
    Value* mean = emit.over_count(sum, space_);
    Value* squares = emit.sum(emit.mul(square.value, square.value), space_);
    Value* spread = emit.sub(squares, emit.mul(sum, mean));
    spread = emit.pointwise(ScalarOp::max, {spread, emit.splat(0, spread->type)});
    Value* rest = emit.add(square.offset, mean);
    if (context_.algebra(space_).equal(rest, emit.splat(0, rest->type))) return spread;
    Value* infinity = emit.splat(std::numeric_limits<double>::infinity(), spread->type);
    spread = emit.pointwise(ScalarOp::select,
                            {emit.pointwise(ScalarOp::eq, {squares, infinity}), squares, spread});
    return emit.add(spread, emit.times_count(emit.mul(rest, rest), space_));
  }

  ReductionContext& context_;
  LinearSplitter& splitter_;
  const Node& node_;
  RowSpace space_;
  DType dtype_;
  bool squares_ = false;
  bool is_alone_ = false;  // whether the form is one product: other terms may be infinite along with it
};

}  // namespace

bool split_linear(ReductionContext& context, Node& node) {
  if (!node.is(ReduceOp::add) || !is_float(node.result()->dtype())) return false;
  const RowSpace space = row_space(node);
  if (context.may_be_empty(space)) return false;
  SweepLevels& levels = context.levels(space);
  const SweepLevels::Key place = levels.of(node.operand(0));
  const auto depends = [&](Value* value) { return levels.depends(value, place); };
  LinearSplitter splitter(context.emit, context.numbers, space, depends, LinearSplitter::Mode::exact);
  const auto form = splitter.split(node.operand(0));
  // A sum that waits for nothing gives up its row factors at most.
  if (!form || (place.level == 0 && (form->size() != 1 || form->front().rows.empty()))) return false;
  SumOfForm sum(context, splitter, node);
  Value* total = sum.of(*form);
  if (non_negative(node.operand(0)) && !non_negative(total))
    total = context.emit.pointwise(ScalarOp::max, {total, context.emit.splat(0, total->type)});
  context.record(sum.squares() ? ReductionRule::centred_squares : ReductionRule::linear, node);
  context.replace(node.result(), total);
  return true;
}

// ---- collect

namespace {

/// Used by one node only, which adds it to something.
bool is_inner_term(const Graph& graph, const Value* value) {
  if (value->users().empty() || graph.is_output(value)) return false;
  const Node* user = value->users()[0];
  if (!llvm::all_of(value->users(), [&](const Node* other) { return other == user; })) return false;
  return user->is(ScalarOp::add) || user->is(ScalarOp::sub) || user->is(ScalarOp::neg);
}

bool is_additive(const Node& node) {
  return node.is(ScalarOp::add) || node.is(ScalarOp::sub) || node.is(ScalarOp::neg);
}

/// A broadcast along rows among the factors of a tree of sums: it gives the row space to collect over.
const Node* find_row_factor(const Graph& graph, const Value* value, int depth) {
  const Node& node = *value->node();
  if (depth == 0 || !node.is(Op::pointwise)) return nullptr;
  for (const Value* operand : node.operands()) {
    const Node* inner = operand->node();
    if (node.is(ScalarOp::mul) && inner->is(Op::broadcast) && inner->operand(0)->rank() < operand->rank())
      return inner;
    if (is_additive(node) && is_inner_term(graph, operand))
      if (const Node* found = find_row_factor(graph, operand, depth - 1)) return found;
  }
  return nullptr;
}

RowSpace space_of(const Node& broadcast) {
  RowSpace space{broadcast.result()->shape(), {}};
  const auto& kept = broadcast.get(attr::axes);
  for (int64_t i = 0; i < broadcast.result()->rank(); ++i)
    if (!llvm::is_contained(kept, i)) space.axes.push_back(i);
  return space;
}

}  // namespace

bool collect_terms(ReductionContext& context, Node& node) {
  if (!node.is(ScalarOp::add) && !node.is(ScalarOp::sub)) return false;
  if (!is_float(node.result()->dtype()) || is_inner_term(context.graph, node.result())) return false;
  const Node* row_factor = find_row_factor(context.graph, node.result(), 8);
  if (!row_factor) return false;
  const RowSpace space = space_of(*row_factor);
  const auto is_tree = [&](Value* value) {
    const Node& inner = *value->node();
    if (&inner == &node) return true;
    if (is_additive(inner)) return is_inner_term(context.graph, value);
    if (!inner.is(ScalarOp::mul)) return false;
    if (llvm::any_of(value->users(), [](const Node* user) { return !is_additive(*user); })) return false;
    return (row_broadcast(inner.operand(0), space) != nullptr) !=
           (row_broadcast(inner.operand(1), space) != nullptr);
  };
  LinearSplitter splitter(context.emit, context.numbers, space, is_tree, LinearSplitter::Mode::plain);
  const auto form = splitter.split(node.result());
  const auto groups = group_by_factors(*form, context.numbers);
  if (groups.size() >= form->size()) return false;
  RowEmitter& emit = context.emit;
  Value* total = nullptr;
  for (const auto& group : groups) {
    Value* part = emit.along(splitter.rows(group, node.result()->dtype()), space);
    if (!group[0].factors.empty())
      part = emit.mul(splitter.product(group[0].factors, node.result()->dtype()), part);
    total = total ? emit.add(total, part) : part;
  }
  context.record(ReductionRule::collect, node);
  context.replace(node.result(), total);
  return true;
}

}  // namespace smelt
