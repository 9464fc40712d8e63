#include "ir/analysis/index_ranges.h"

#include <algorithm>

#include "ir/analysis/splat.h"
#include "runtime/error.h"

namespace smelt {
namespace {

using MaybeRange = std::optional<IndexRange>;

constexpr int64_t kLeast = INT32_MIN, kMost = INT32_MAX;

bool has_range(DType type) { return !is_float(type); }

IndexRange any_of(DType type) {
  if (type == DType::boolean) return {0, 1};
  return {kLeast, kMost};
}

/// Nothing where kernels, which count in 32 bits, would wrap around.
MaybeRange in_32_bits(int64_t least, int64_t most, bool attained) {
  if (least < kLeast || most > kMost) return std::nullopt;
  return IndexRange{.least = least, .most = most, .attained = attained};
}

/// With `beside` as a number of the range.
IndexRange hull(const IndexRange& x) {
  if (!x.beside) return x;
  return {.least = std::min(x.least, *x.beside), .most = std::max(x.most, *x.beside)};
}

IndexRange either(const IndexRange& a, const IndexRange& b) {
  const bool same = a.beside == b.beside;
  const IndexRange x = same ? a : hull(a), y = same ? b : hull(b);
  IndexRange result{.least = std::min(x.least, y.least), .most = std::max(x.most, y.most)};
  if (same) result.beside = a.beside;
  if (x.below == y.below) result.below = x.below;
  return result;
}

/// The largest value that a size can have; nothing where it has no bound.
std::optional<int64_t> most_of(const Dim& dim, const Symbols& symbols) {
  try {
    return symbols.upper(dim);
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// Symbols are at least 1, so sums of their products are at least what they are there.
bool is_never_zero(const Dim& dim) {
  int64_t least = 0;
  for (const Dim::Term& term : dim.terms()) {
    if (term.coefficient < 0) return false;
    for (const Atom& atom : term.atoms)
      if (atom.inner) return false;
    least = std::min(kMost, least + std::min(kMost, term.coefficient));
  }
  return least > 0;
}

/// Of x below a Dim and y of any kind, x + y is below that and the most of y.
std::optional<Dim> below_sum(const IndexRange& x, const IndexRange& y) {
  if (!x.below) return std::nullopt;
  return *x.below + Dim(y.most);
}

MaybeRange add(const IndexRange& x, const IndexRange& y) {
  MaybeRange sum = in_32_bits(x.least + y.least, x.most + y.most, false);
  if (sum) sum->below = x.below ? below_sum(x, y) : below_sum(y, x);
  return sum;
}

/// Of whole numbers below n, times a number c > 0: at most (n - 1) c.
std::optional<Dim> below_product(const IndexRange& x, const IndexRange& y) {
  if (!x.below || y.least != y.most || y.least < 1) return std::nullopt;
  return (*x.below - Dim(1)) * Dim(y.least) + Dim(1);
}

MaybeRange multiply(const IndexRange& x, const IndexRange& y) {
  const auto [least, most] =
      std::minmax({x.least * y.least, x.least * y.most, x.most * y.least, x.most * y.most});
  MaybeRange product = in_32_bits(least, most, false);
  if (product) product->below = x.below ? below_product(x, y) : below_product(y, x);
  return product;
}

/// Of whole numbers, by positive ones.
MaybeRange divide(const IndexRange& x, const IndexRange& y) {
  if (y.least < 1) return std::nullopt;
  const auto [least, most] =
      std::minmax({x.least / y.least, x.least / y.most, x.most / y.least, x.most / y.most});
  return IndexRange{.least = least, .most = most};
}

IndexRange larger(const IndexRange& x, const IndexRange& y) {
  return {.least = std::max(x.least, y.least), .most = std::max(x.most, y.most)};
}

/// What one side is below, both are.
IndexRange smaller(const IndexRange& x, const IndexRange& y) {
  return {.least = std::min(x.least, y.least),
          .most = std::min(x.most, y.most),
          .below = x.below ? x.below : y.below};
}

/// Of some of the elements in a range, which need not be the least and the most.
IndexRange of_some(IndexRange range) {
  range.attained = false;
  return range;
}

/// What one result of a reduction is made of.
Dim elements_of_a_row(const Node& reduce) {
  Dim count = 1;
  for (const int64_t axis : reduce.ints_attr("axes"))
    count *= reduce.operand(0)->shape()[static_cast<size_t>(axis)];
  return count;
}

bool is_comparison(const Node& node) {
  return node.is(Op::pointwise) && info(node.scalar_op).complement.has_value();
}

/// The part of a range for which `x op number` holds; the whole where that is none, since it is not reached.
IndexRange part(const IndexRange& whole, ScalarOp op, int64_t number) {
  IndexRange x = whole;
  x.attained = false;
  if (op == ScalarOp::ne && x.beside == number) x.beside.reset();
  if (op == ScalarOp::ne && x.least == number) ++x.least;
  if (op == ScalarOp::ne && x.most == number) --x.most;
  if (op == ScalarOp::ne) return x.least > x.most ? whole : x;
  x = hull(x);
  if (op == ScalarOp::eq || op == ScalarOp::ge) x.least = std::max(x.least, number);
  if (op == ScalarOp::gt) x.least = std::max(x.least, number + 1);
  if (op == ScalarOp::eq || op == ScalarOp::le) x.most = std::min(x.most, number);
  if (op == ScalarOp::lt) x.most = std::min(x.most, number - 1);
  return x.least > x.most ? whole : x;
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
  for (size_t i = 0; i < inputs.size(); ++i)
    ranges_[inputs[i]->result()] = around.at(fusion.operand(static_cast<unsigned>(i)));
  find();
}

void IndexRanges::find() {
  for (const auto& node : graph_.nodes()) {
    if (node->is(Op::fusion)) find_results(*node);
    for (const auto& result : node->results())
      if (has_range(result->dtype()))
        if (const MaybeRange range = of(*result)) ranges_[result.get()] = *range;
  }
}

/// What a fusion leaves is what its body makes of its operands.
void IndexRanges::find_results(const Node& fusion) {
  const auto integer = [](const auto& result) { return has_range(result->dtype()); };
  if (std::ranges::none_of(fusion.results(), integer)) return;
  const IndexRanges inside(fusion, *this);
  for (unsigned i = 0; i < fusion.result_count(); ++i)
    ranges_[fusion.result(i)] = inside.at(fusion.body->outputs[i].value);
}

IndexRange IndexRanges::at(const Value* value) const {
  const auto known = ranges_.find(value);
  return known == ranges_.end() ? any_of(value->dtype()) : known->second;
}

MaybeRange IndexRanges::of(const Value& value) const {
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
      return has_range(node.operand(0)->dtype()) ? MaybeRange(at(node.operand(0))) : std::nullopt;
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

/// What some elements of operand 0 and of another one are.
IndexRange IndexRanges::some_of(const Node& node, unsigned other) const {
  return of_some(either(at(node.operand(0)), at(node.operand(other))));
}

MaybeRange IndexRanges::of_constant(const Node& node) const {
  double least = 0, most = 0;
  if (node.has("values")) {
    const std::vector<double>& values = node.floats_attr("values");
    if (values.empty()) return std::nullopt;
    const auto [low, high] = std::ranges::minmax_element(values);
    least = *low, most = *high;
  } else {
    least = most = node.float_attr("value");
  }
  if (!(least >= static_cast<double>(kLeast) && most <= static_cast<double>(kMost))) return std::nullopt;
  return IndexRange{
      .least = static_cast<int64_t>(least), .most = static_cast<int64_t>(most), .attained = true};
}

MaybeRange IndexRanges::of_input(const Node& node) const {
  const auto ids = id_range(node);
  if (!ids || ids->below < 1) return std::nullopt;
  return IndexRange{.least = ids->least, .most = ids->below - 1, .beside = ids->ignored};
}

MaybeRange IndexRanges::of_iota(const Value& value) const {
  const Dim& extent = value.shape()[static_cast<size_t>(value.node()->int_attr("axis"))];
  const auto most = most_of(extent, graph_.module().symbols);
  if (!most || *most < 1 || *most > kMost) return std::nullopt;
  return IndexRange{.least = 0, .most = *most - 1, .below = extent, .attained = extent.is_constant()};
}

MaybeRange IndexRanges::of_pointwise(const Node& node) const {
  if (is_comparison(node)) return IndexRange{0, 1};
  if (node.is(ScalarOp::select)) return of_select(node);
  if (!has_range(node.operand(0)->dtype())) return std::nullopt;
  const IndexRange x = hull(at(node.operand(0)));
  const IndexRange y = node.operands().size() > 1 ? hull(at(node.operand(1))) : IndexRange{};
  switch (node.scalar_op) {
    case ScalarOp::add:
      return add(x, y);
    case ScalarOp::sub:
      return add(x, {-y.most, -y.least});
    case ScalarOp::mul:
      return multiply(x, y);
    case ScalarOp::div:
      return divide(x, y);
    case ScalarOp::neg:
      return in_32_bits(-x.most, -x.least, false);
    case ScalarOp::max:
      return larger(x, y);
    case ScalarOp::min:
      return smaller(x, y);
    default:
      return std::nullopt;
  }
}

/// A value of a branch, which the comparison before it narrows: select(ne(x, -1), x, 0) is never -1.
IndexRange IndexRanges::where(const Value* value, const Value* condition, bool holds) const {
  IndexRange range = at(value);
  const Node& comparison = *condition->node();
  if (!is_comparison(comparison)) return range;
  const bool first = comparison.operand(0) == value;
  if (!first && comparison.operand(1) != value) return range;
  const auto number = whole_splat(comparison.operand(first ? 1 : 0));
  if (!number) return range;
  ScalarOp op = holds ? comparison.scalar_op : *info(comparison.scalar_op).complement;
  if (!first) op = *info(op).swapped;
  return part(range, op, *number);
}

MaybeRange IndexRanges::of_select(const Node& node) const {
  const Value* condition = node.operand(0);
  return either(where(node.operand(1), condition, true), where(node.operand(2), condition, false));
}

/// -1 stands for none, in rows of fewer elements than are asked for.
MaybeRange IndexRanges::of_top_k(const Node& node) const {
  const Dim& columns = node.operand(0)->shape().back();
  const auto most = most_of(columns, graph_.module().symbols);
  if (!most || *most > kMost) return std::nullopt;
  const bool enough = columns.constant().value_or(0) >= node.int_attr("k");
  return IndexRange{.least = enough ? 0 : -1, .most = std::max<int64_t>(0, *most - 1), .below = columns};
}

/// -1 stands for none, where no score is above -infinity or one is NaN.
MaybeRange IndexRanges::of_sample(const Node& node) const {
  const auto words = most_of(node.operand(0)->shape().back(), graph_.module().symbols);
  if (!words || *words > kMost) return std::nullopt;
  return IndexRange{.least = -1, .most = std::max<int64_t>(-1, *words - 1)};
}

MaybeRange IndexRanges::of_reduce(const Node& node, unsigned result) const {
  const Value& x = *node.operand(0);
  if (node.is(ReduceOp::argmax) && result == 1) {
    const Dim& extent = x.shape()[static_cast<size_t>(node.ints_attr("axes").front())];
    const auto most = most_of(extent, graph_.module().symbols);
    const bool single = node.ints_attr("axes").size() == 1 && is_never_zero(extent);
    if (!single || !most || *most < 1 || *most > kMost) return std::nullopt;
    return IndexRange{.least = 0, .most = *most - 1, .below = extent};
  }
  if (!has_range(x.dtype())) return std::nullopt;
  const IndexRange range = of_some(hull(at(&x)));
  const Dim elements = elements_of_a_row(node);
  if (info(node.reduce_op).finds && result == 0)
    return is_never_zero(elements) ? MaybeRange(range) : std::nullopt;
  if (!node.is(ReduceOp::add)) return std::nullopt;
  const auto count = most_of(elements, graph_.module().symbols);
  if (!count || *count < 0 || *count > kMost) return std::nullopt;
  return in_32_bits(std::min<int64_t>(0, *count * range.least), std::max<int64_t>(0, *count * range.most),
                    false);
}

}  // namespace smelt
