#include "ir/analysis/index_ranges.h"

#include <algorithm>
#include <cmath>

#include "ir/analysis/integer_ranges.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

using MaybeRange = std::optional<IndexRange>;
using MaybeReals = std::optional<RealRange>;

constexpr int64_t kLeast = kLeastInteger, kMost = kMostInteger;

bool has_range(DType type) { return !is_float(type); }

/// Returns the numbers that any value of the type may be; those of narrow types are computed in 32 bits.
IndexRange any_of(DType type) {
  if (type == DType::boolean) return {0, 1};
  if (type == DType::i64) return {INT64_MIN, INT64_MAX};
  return {kLeast, kMost};
}

/// The largest value that a size can have; nothing where it has no bound.
std::optional<int64_t> most_of(const Dim& dim, const Symbols& symbols) {
  try {
    return symbols.upper(dim);
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// Returns the number of elements per result of a reduction.
Dim elements_of_a_row(const Node& reduce) {
  Dim count = 1;
  for (const int64_t axis : reduce.get(attr::axes))
    count *= reduce.operand(0)->shape()[static_cast<size_t>(axis)];
  return count;
}

/// The least and the most of a constant's numbers; nothing where one is NaN.
MaybeReals numbers_of(const Node& constant) {
  if (!constant.has(attr::values)) {
    const double value = constant.get(attr::value);
    return std::isnan(value) ? MaybeReals() : RealRange{value, value};
  }
  const std::vector<double>& values = constant.get(attr::values);
  if (values.empty() || std::ranges::any_of(values, [](double x) { return std::isnan(x); }))
    return std::nullopt;
  const auto [least, most] = std::ranges::minmax_element(values);
  return RealRange{*least, *most};
}

/// Truncates numbers towards zero, as the conversion to integers does.
MaybeRange truncated(const MaybeReals& x) {
  if (!x || !(std::abs(x->least) < 0x1p62 && std::abs(x->most) < 0x1p62)) return std::nullopt;
  return in_bits_of(DType::i32, static_cast<int64_t>(x->least), static_cast<int64_t>(x->most));
}

/// Returns whether it is an input of an entry whose integers of 64 bits a session refuses where 32 do not
/// hold them.
bool is_checked(const Node& input) {
  const auto is_own = [&](const auto& graph) { return graph.get() == &input.graph(); };
  return input.result()->dtype() == DType::i64 && std::ranges::any_of(input.graph().module().graphs, is_own);
}

/// Nothing is said of numbers that may not fit the narrower type: they wrap around.
IndexRange narrowed(const IndexRange& range, DType type) {
  const IndexRange all = hull(range), kept = all_of_type(type);
  return all.least >= kept.least && all.most <= kept.most ? range : any_of(type);
}

}  // namespace

bool IndexRange::within(const Dim& rows) const {
  const IndexRange all = hull(*this);
  if (all.least < 0) return false;
  if (const auto number = rows.constant()) return all.most < *number;
  return !beside && below && (*below == rows || (rows - *below).constant().value_or(-1) >= 0);
}

bool IndexRange::within(const Dim& rows, const Symbols& symbols) const {
  if (within(rows)) return true;
  int64_t constant = 0;
  for (const Dim::Term& term : rows.terms()) {
    if (term.atoms.empty()) constant = term.coefficient;
    if (!term.atoms.empty() && term.coefficient > 0) return false;
  }
  const auto taken = most_of(Dim(constant) - rows, symbols);
  const IndexRange all = hull(*this);
  return taken && all.least >= 0 && all.most < constant - *taken;
}

std::optional<int64_t> IndexRange::surely_outside(const Dim& rows) const {
  const int64_t count = rows.constant().value_or(kMost);
  if (!beside && (most < 0 || least >= count)) return most < 0 ? most : least;
  if (attained && least < 0) return least;
  if (attained && most >= count) return most;
  return std::nullopt;
}

IndexRanges::IndexRanges(const Graph& graph) : graph_(graph) { find(); }

IndexRanges::IndexRanges(const Node& fusion, const IndexRanges& around) : graph_(*fusion.body) {
  const std::vector<Node*> inputs = graph_.inputs();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Value* outside = fusion.operand(static_cast<unsigned>(i));
    know(*inputs[i]->result(), around.known(*outside));
  }
  find();
}

void IndexRanges::find() {
  for (const auto& node : graph_.nodes()) {
    if (node->is(Op::fusion)) find_results(*node);
    for (const auto& result : node->results())
      if (const Known found = find(*result); found.integers || found.reals) know(*result, found);
  }
}

IndexRanges::Known IndexRanges::find(const Value& value) {
  if (has_range(value.dtype())) return {of(value), {}};
  return {{}, of_reals(value)};
}

IndexRanges::Known IndexRanges::known(const Value& value) const {
  if (has_range(value.dtype())) return {at(&value), {}};
  return {{}, reals(&value)};
}

void IndexRanges::know(const Value& value, const Known& found) {
  ranges_.erase(&value), reals_.erase(&value);
  if (found.integers) ranges_[&value] = *found.integers;
  if (found.reals) reals_[&value] = *found.reals;
}

/// Finds the ranges of a fusion's results from those in its body.
void IndexRanges::find_results(const Node& fusion) {
  const IndexRanges inside(fusion, *this);
  for (unsigned i = 0; i < fusion.result_count(); ++i)
    know(*fusion.result(i), inside.known(*fusion.body->outputs[i].value));
}

MaybeReals IndexRanges::reals(const Value* value) const {
  const auto known = reals_.find(value);
  return known == reals_.end() ? std::nullopt : MaybeReals(known->second);
}

IndexRange IndexRanges::at(const Value* value) const {
  const auto known = ranges_.find(value);
  return known == ranges_.end() ? any_of(value->dtype()) : known->second;
}

MaybeRange IndexRanges::of(const Value& value) {
  const Node& node = *value.node();
  switch (node.op()) {
    case Op::constant:
      return of_constant(node);
    case Op::iota:
      return of_iota(value);
    case Op::random:
      return IndexRange{0, 65535};
    case Op::input:
      return of_input(node);
    case Op::reshape:
    case Op::transpose:
    case Op::broadcast:
    case Op::stop_gradient:
      return at(node.operand(0));
    case Op::slice:
    case Op::windows:
    case Op::gather:
      return of_some(at(node.operand(0)));
    case Op::convert:
      if (value.dtype() == DType::boolean) return std::nullopt;
      if (!has_range(node.operand(0)->dtype())) return truncated(reals(node.operand(0)));
      return narrowed(at(node.operand(0)), value.dtype());
    case Op::concat: {
      IndexRange all = at(node.operand(0));
      for (const Value* operand : node.operands().drop_front()) all = either(all, at(operand));
      return all;
    }
    case Op::insert:
      return some_of(node, 1);
    case Op::scatter:
      return some_of(node, 2);
    case Op::pointwise:
      return of_pointwise(node);
    case Op::reduce:
      return of_reduce(node, value.index());
    case Op::top_k:
      return of_top_k(node);
    case Op::sample:
      return of_sample(node);
    default:
      return std::nullopt;
  }
}

/// Returns the range of a mix of elements of operand 0 and of another operand.
IndexRange IndexRanges::some_of(const Node& node, unsigned other) const {
  return of_some(either(at(node.operand(0)), at(node.operand(other))));
}

MaybeRange IndexRanges::of_constant(const Node& node) {
  const MaybeReals numbers = numbers_of(node);
  if (!numbers) return std::nullopt;
  const auto [least, most] = *numbers;
  if (!(least >= static_cast<double>(kLeast) && most <= static_cast<double>(kMost))) return std::nullopt;
  return IndexRange{
      .least = static_cast<int64_t>(least), .most = static_cast<int64_t>(most), .attained = true};
}

MaybeRange IndexRanges::of_input(const Node& node) const {
  const auto ids = id_range(node);
  if (!ids || ids->below < 1) return is_checked(node) ? MaybeRange({kLeast, kMost}) : std::nullopt;
  return IndexRange{.least = ids->least, .most = ids->below - 1, .beside = ids->ignored};
}

MaybeRange IndexRanges::of_iota(const Value& value) const {
  const Dim& extent = value.shape()[static_cast<size_t>(value.node()->get(attr::axis))];
  const auto most = most_of(extent, graph_.module().symbols);
  if (!most || *most < 1 || *most > kMost) return std::nullopt;
  return IndexRange{.least = 0, .most = *most - 1, .below = extent, .attained = extent.is_constant()};
}

MaybeRange IndexRanges::of_pointwise(const Node& node) {
  if (info(node.scalar_op).flag) return IndexRange{0, 1};
  if (node.is(ScalarOp::select)) return of_select(node);
  if (!has_range(node.operand(0)->dtype())) return std::nullopt;
  const IndexRange x = hull(at(node.operand(0)));
  const IndexRange y = node.operands().size() > 1 ? hull(at(node.operand(1))) : IndexRange{};
  return integer_result(node.scalar_op, node.result()->dtype(), x, y);
}

/// Returns the range of a select; a branch that is never chosen is ignored.
MaybeRange IndexRanges::of_select(const Node& node) {
  const auto x = chosen(node, 1), y = chosen(node, 2);
  if (x && y) return either(*x->integers, *y->integers);
  if (x || y) return of_some(*(x ? x : y)->integers);
  return either(at(node.operand(1)), at(node.operand(2)));
}

/// -1 means none, in rows of fewer elements than requested.
MaybeRange IndexRanges::of_top_k(const Node& node) const {
  const Dim& columns = node.operand(0)->shape().back();
  const auto most = most_of(columns, graph_.module().symbols);
  if (!most || *most > kMost) return std::nullopt;
  const bool enough = columns.constant().value_or(0) >= node.get(attr::k);
  return IndexRange{.least = enough ? 0 : -1, .most = std::max<int64_t>(0, *most - 1), .below = columns};
}

/// -1 means none, if no score is above -infinity or one is NaN.
MaybeRange IndexRanges::of_sample(const Node& node) const {
  const auto words = most_of(node.operand(0)->shape().back(), graph_.module().symbols);
  if (!words || *words > kMost) return std::nullopt;
  return IndexRange{.least = -1, .most = std::max<int64_t>(-1, *words - 1)};
}

MaybeRange IndexRanges::of_reduce(const Node& node, unsigned result) const {
  const Value& x = *node.operand(0);
  if (node.is(ReduceOp::argmax) && result == 1) {
    const Dim& extent = x.shape()[static_cast<size_t>(node.get(attr::axes).front())];
    const auto most = most_of(extent, graph_.module().symbols);
    const bool single = node.get(attr::axes).size() == 1 && is_never_zero(extent, graph_.module().symbols);
    if (!single || !most || *most < 1 || *most > kMost) return std::nullopt;
    return IndexRange{.least = 0, .most = *most - 1, .below = extent};
  }
  if (!has_range(x.dtype())) return std::nullopt;
  const IndexRange range = of_some(hull(at(&x)));
  const Dim elements = elements_of_a_row(node);
  if (info(node.reduce_op).finds && result == 0)
    return is_never_zero(elements, graph_.module().symbols) ? MaybeRange(range) : std::nullopt;
  if (!node.is(ReduceOp::add)) return std::nullopt;
  const auto count = most_of(elements, graph_.module().symbols);
  if (!count || *count < 0 || *count > kMost) return std::nullopt;
  const Bound least = Bound{*count} * range.least, most = Bound{*count} * range.most;
  return in_bits_of(x.dtype(), std::min<Bound>(0, least), std::max<Bound>(0, most));
}

MaybeReals IndexRanges::of_reals(const Value& value) {
  const Node& node = *value.node();
  switch (node.op()) {
    case Op::constant: {
      const MaybeReals numbers = numbers_of(node);
      return numbers ? rounded(*numbers) : std::nullopt;
    }
    case Op::reshape:
    case Op::transpose:
    case Op::broadcast:
    case Op::stop_gradient:
    case Op::slice:
    case Op::windows:
    case Op::gather:
      return reals(node.operand(0));
    case Op::convert:
      return converted(*node.operand(0));
    case Op::pointwise:
      return node.is(ScalarOp::select) ? selected_reals(node) : pointwise_reals(node);
    default:
      return reals(&value);
  }
}

MaybeReals IndexRanges::converted(const Value& value) const {
  const MaybeReals whole = reals(&value);
  if (!has_range(value.dtype())) return whole ? rounded(*whole) : std::nullopt;
  const IndexRange range = hull(at(&value));
  return whole_numbers({static_cast<double>(range.least), static_cast<double>(range.most)});
}

MaybeReals IndexRanges::pointwise_reals(const Node& node) const {
  llvm::SmallVector<RealRange, 3> operands;
  for (const Value* operand : node.operands()) {
    const MaybeReals range = has_range(operand->dtype()) ? converted(*operand) : reals(operand);
    if (!range) return std::nullopt;
    operands.push_back(*range);
  }
  return real_result(node.scalar_op, operands);
}

MaybeReals IndexRanges::selected_reals(const Node& node) {
  const auto x = chosen(node, 1), y = chosen(node, 2);
  if ((x && !x->reals) || (y && !y->reals) || (!x && !y)) return std::nullopt;
  const RealRange &a = *(x ? x : y)->reals, &b = *(y ? y : x)->reals;
  return RealRange{std::min(a.least, b.least), std::max(a.most, b.most)};
}

}  // namespace smelt
