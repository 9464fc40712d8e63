#include "ir/evaluate/rounding.h"

#include "ir/evaluate/reduction.h"
#include "ir/evaluate/scalar_reference.h"

namespace smelt {
namespace {

using bounding::kRounding, bounding::kWild;

/// Units of the last place, halved, by which float32 rounds the operation's result.
double roundings_of(ScalarOp op) {
  switch (op) {
    case ScalarOp::add:
    case ScalarOp::sub:
    case ScalarOp::mul:
      return 1;
    case ScalarOp::div:  // by the inverse
    case ScalarOp::reciprocal:
    case ScalarOp::sqrt:
      return 3;
    case ScalarOp::max:
    case ScalarOp::min:
    case ScalarOp::neg:
    case ScalarOp::abs:
    case ScalarOp::sign:
    case ScalarOp::floor:
    case ScalarOp::round:
      return 0;
    default:
      return info(op).flag ? 0 : bounding::kFunctionRoundings;
  }
}

/// Either operand, where the condition may be either.
Bounded select_bounded(const Bounded& condition, const Bounded& yes, const Bounded& no) {
  const bool holds = condition.value != 0;
  const Bounded &taken = holds ? yes : no, &other = holds ? no : yes;
  if (condition.error == 0) return taken;
  const double between = bounding::distance(taken.value, other.value);
  return {taken.value, std::max(taken.error, between + other.error)};
}

/// Operations that are not monotone where an interval holds zero, or two equal operands.
bool is_undecided(ScalarOp op, const Bounded& a, const Bounded& b) {
  if (op == ScalarOp::div) return b.may_be_zero();
  if (op == ScalarOp::reciprocal) return a.may_be_zero();
  const bool compares = op == ScalarOp::eq || op == ScalarOp::ne;
  return compares && a.error + b.error > 0 && !(std::fabs(a.value - b.value) > a.error + b.error);
}

/// A connective of flags: a flag that may be either is tried as both.
Bounded connective(ScalarOp op, const Bounded& a, const Bounded& b) {
  const double value = apply(op, a.value, b.value);
  for (const double x : {0.0, 1.0})
    for (const double y : {0.0, 1.0})
      if ((a.error > 0 || x == a.value) && (b.error > 0 || y == b.value) && apply(op, x, y) != value)
        return {value, 1};
  return value;
}

/// A sine moves by as much as its argument at most, and turns back within an interval.
double wave_error(const Bounded& a, const Bounded& y) {
  if (!std::isfinite(a.value) || a.is_wild()) return y.error;
  return std::min(a.error + bounding::kFunctionRoundings * kRounding, 2.0);
}

}  // namespace

Bounded apply_bounded(ScalarOp op, const Bounded& a, const Bounded& b, const Bounded& c) {
  if (op == ScalarOp::select) return select_bounded(a, b, c);
  if (info(op).domain == Domain::flags) return connective(op, a, b);
  const double roundings = roundings_of(op);
  Bounded y = info(op).arity == 1
                  ? bounding::unary([op](double x) { return apply(op, x); }, a, roundings)
                  : bounding::binary([op](double x, double z) { return apply(op, x, z); }, a, b, roundings);
  if (!y.is_nan() && is_undecided(op, a, b)) y.error = kWild;
  if (op == ScalarOp::sin || op == ScalarOp::cos) y.error = wave_error(a, y);
  if (info(op).flag) y.error = std::min(y.error, 1.0);  // it is 0 or 1
  return y;
}

namespace {

template <ReduceOp op>
std::vector<Bounded> in_order(const std::vector<Bounded>& row) {
  using R = Reduction<op, Bounded>;
  auto state = R::identity();
  for (size_t i = 0; i < row.size(); ++i)
    state = R::combine(state, R::lift(row[i], Bounded(static_cast<double>(i))));
  const auto results = R::finish(state);
  return {results.begin(), results.end()};
}

std::vector<Bounded> in_order(ReduceOp op, const std::vector<Bounded>& row) {
  switch (op) {
#define SMELT_REDUCE(name) \
  case ReduceOp::name:     \
    return in_order<ReduceOp::name>(row);
    SMELT_REDUCE_OPS(SMELT_REDUCE)
#undef SMELT_REDUCE
  }
  return {};
}

/// The index is undecided where another element may be as large.
std::vector<Bounded> argmax_bounded(const std::vector<Bounded>& row) {
  std::vector<Bounded> found = in_order(ReduceOp::argmax, row);
  const auto place = static_cast<size_t>(found[1].value);
  found[0] = in_order(ReduceOp::max, row)[0];
  for (size_t i = 0; i < row.size(); ++i) {
    const double errors = row[i].error + row[place].error;
    if (i != place && errors > 0 && !(row[i].value + errors < row[place].value)) found[1].error = kWild;
  }
  return found;
}

/// m = max x, s = sum exp(x - m): s depends on m as the elements do.
std::vector<Bounded> max_sumexp_bounded(const std::vector<Bounded>& row) {
  const std::vector<Bounded> values = in_order(ReduceOp::max_sumexp, row);
  const Bounded most = in_order(ReduceOp::max, row)[0];
  if (!std::isfinite(values[1].value) || !std::isfinite(most.value) || most.is_wild()) {
    const bool wild = std::ranges::any_of(row, &Bounded::is_wild);
    return {{values[0].value, wild ? kWild : 0}, {values[1].value, wild ? kWild : 0}};
  }
  bounding::Sum sum;
  for (const Bounded& x : row) sum.add(math::exp(x - most));
  return {most, sum.result()};
}

}  // namespace

std::vector<Bounded> reduce_bounded(ReduceOp op, const std::vector<Bounded>& row) {
  if (op == ReduceOp::argmax) return argmax_bounded(row);
  if (op == ReduceOp::max_sumexp && !row.empty()) return max_sumexp_bounded(row);
  if (op != ReduceOp::add) return in_order(op, row);
  bounding::Sum sum;
  for (const Bounded& x : row) sum.add(x);
  return {sum.result()};
}

}  // namespace smelt
