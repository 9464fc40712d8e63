#include "passes/graph/reductions/linear_form.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "llvm/ADT/STLExtras.h"
#include "passes/graph/reductions/row_ranges.h"

namespace smelt {
namespace {

using Term = LinearTerm;
using Kind = LinearTerm::Kind;

// Larger forms cost more than a second sweep.
constexpr size_t kMostTerms = 32;
constexpr int kMostDepth = 48;
constexpr int kDeepestRow = 8;  // row values are looked through so far

bool is_row_term(const Term& term) { return term.factors.empty(); }

bool row_only(const LinearForm& form) { return llvm::all_of(form, is_row_term); }

LinearForm constant_form(double value) {
  Term term;
  term.coefficient = value;
  return {term};
}

LinearForm row_form(Value* row, int power = 1) {
  Term term;
  term.rows.push_back({row, power});
  return {term};
}

LinearForm whole(Value* value, int power = 1, Kind kind = Kind::power) {
  Term term;
  term.factors.push_back({value, power, kind});
  return {term};
}

Term times(Term a, const Term& b) {
  a.coefficient *= b.coefficient;
  a.rows.append(b.rows.begin(), b.rows.end());
  a.factors.append(b.factors.begin(), b.factors.end());
  return a;
}

bool has_square(const Term& term) {
  return llvm::any_of(term.factors, [](const Term::Factor& f) { return f.kind == Kind::square; });
}

// A row value that is an element of the row (or a statistic's exact part): subtracting it first keeps the
// digits.
bool is_element(const Value* value) {
  const Node* node = value->node();
  if (node->is(ScalarOp::select)) node = node->operand(1)->node();
  return node->is(Op::reduce) && info(node->reduce_op).finds && value->index() == 0;
}

}  // namespace

bool LinearSplitter::is_element(const Term& term) {
  return term.rows.size() == 1 && term.rows[0].power == 1 && smelt::is_element(term.rows[0].value);
}

// ---- splitting

std::optional<LinearForm> LinearSplitter::split(Value* value) {
  value = skip_identity(value);
  if (depth_ == 0 && is_float(value->dtype())) dtype_ = value->dtype();
  if (auto constant = splat(value)) return constant_form(*constant);
  if (Node* broadcast = row_broadcast(value, space_)) return row_form(emit_.row_value(broadcast, space_));
  if (!depends_(value)) return mode_ == Mode::exact ? without_row_factors(value) : whole(value);
  std::optional<LinearForm> form;
  if (++depth_ < kMostDepth) form = split_dependent(value);
  --depth_;
  if (form && form->size() > kMostTerms) form.reset();
  if (!form && mode_ == Mode::plain) return whole(value);
  return form;
}

namespace {

/// Returns whether the sum of products with the factor (of quotients by it) is the product (the quotient) of
/// the sum.
bool leaves_sum(const Value* factor, bool divides) {
  const auto number = splat(factor);
  if (divides) return number ? *number != 0 : is_never_small(factor);
  return is_never_infinite(factor);
}

}  // namespace

/// A value that stays whole but for factors that are constant along the row: they need not be inside a sum.
LinearForm LinearSplitter::without_row_factors(Value* value) {
  Term taken;
  for (;; value = skip_identity(value)) {
    const Node& node = *value->node();
    if (node.is(ScalarOp::neg)) {
      taken.coefficient = -taken.coefficient;
      value = node.operand(0);
      continue;
    }
    if (!node.is(ScalarOp::mul) && !node.is(ScalarOp::div)) break;
    const auto constant = [&](unsigned i) {
      return row_broadcast(node.operand(i), space_) || splat(node.operand(i));
    };
    const unsigned row = constant(1) ? 1 : 0;
    if (!constant(row) || constant(1 - row) || (node.is(ScalarOp::div) && row == 0)) break;
    if (!leaves_sum(node.operand(row), node.is(ScalarOp::div))) break;
    const int power = node.is(ScalarOp::div) ? -1 : 1;
    if (auto number = splat(node.operand(row)))
      taken.coefficient *= power < 0 ? 1 / *number : *number;
    else
      taken.rows.push_back({emit_.row_value(node.operand(row)->node(), space_), power});
    value = node.operand(1 - row);
  }
  return {times(taken, whole(value)[0])};
}

std::optional<LinearForm> LinearSplitter::split_dependent(Value* value) {
  const Node& node = *value->node();
  if (node.is(Op::pointwise)) return split_pointwise(node);
  if (node.is(Op::convert) && node.operand(0)->dtype() == value->dtype()) return split(node.operand(0));
  return std::nullopt;
}

std::optional<LinearForm> LinearSplitter::split_pointwise(const Node& node) {
  switch (node.scalar_op) {
    case ScalarOp::add:
      return split_sum(node, 1);
    case ScalarOp::sub:
      return split_sum(node, -1);
    case ScalarOp::neg: {
      auto form = split(node.operand(0));
      return form ? cross(*form, constant_form(-1)) : form;
    }
    case ScalarOp::mul:
      return split_product(node.operand(0), node.operand(1));
    case ScalarOp::div:
      return split_quotient(node);
    case ScalarOp::select:
      return split_select(node);
    default:
      return std::nullopt;
  }
}

std::optional<LinearForm> LinearSplitter::split_sum(const Node& node, double sign) {
  auto a = split(node.operand(0)), b = split(node.operand(1));
  if (!a || !b) return std::nullopt;
  for (Term& term : *b) term.coefficient *= sign;
  a->insert(a->end(), b->begin(), b->end());
  return a;
}

std::optional<LinearForm> LinearSplitter::split_product(Value* a, Value* b) {
  if (mode_ == Mode::exact && numbers_.same(a, b))
    if (auto square = split_square(a)) return square;
  auto left = split(a), right = split(b);
  if (!left || !right) return std::nullopt;
  if (row_only(*left) || row_only(*right)) return cross(*left, *right);
  return cross_varying(*left, *right);
}

std::optional<LinearForm> LinearSplitter::split_quotient(const Node& node) {
  auto numerator = split(node.operand(0)), denominator = split(node.operand(1));
  if (!numerator || !denominator || denominator->size() != 1) return std::nullopt;
  Term& below = denominator->front();
  if (has_square(below) || below.coefficient == 0) return std::nullopt;
  if (llvm::any_of(below.factors, [](const Term::Factor& f) { return f.kind != Kind::power; }))
    return std::nullopt;
  below.coefficient = 1 / below.coefficient;
  for (Term::Row& row : below.rows) row.power = -row.power;
  for (Term::Factor& factor : below.factors) factor.power = -factor.power;
  return below.factors.empty() ? cross(*numerator, *denominator) : cross_varying(*numerator, *denominator);
}

std::optional<LinearForm> LinearSplitter::split_select(const Node& node) {
  Value* condition = node.operand(0);
  if (depends_(condition) || row_broadcast(condition, space_)) return std::nullopt;
  auto then = split(node.operand(1)), otherwise = split(node.operand(2));
  if (!then || !otherwise) return std::nullopt;
  auto form = cross_varying(*then, whole(condition, 1, Kind::when));
  auto rest = cross_varying(*otherwise, whole(condition, 1, Kind::unless));
  if (!form || !rest) return std::nullopt;
  for (Term& term : *rest)
    if (term.coefficient != 0) form->push_back(term);
  llvm::erase_if(*form, [](const Term& term) { return term.coefficient == 0; });
  return form;
}

namespace {

/// Returns whether the row value is the root of a sum of squares, which overflows where the squares do, or a
/// sum of exponentials, which are 1 at most.
bool is_size_of_squares(const Value* row, int depth) {
  const Node& node = *row->node();
  if (node.is(ScalarOp::sqrt) || splat(row)) return true;
  if (node.is(ReduceOp::max_sumexp)) return row->index() == 1;
  if (depth == 0 || (!node.is(ScalarOp::max) && !node.is(ScalarOp::add) && !node.is(Op::broadcast)))
    return false;
  return llvm::all_of(node.operands(), [&](const Value* x) { return is_size_of_squares(x, depth - 1); });
}

/// Returns whether varying factors of the form are divided by a row value that may be as large as they are:
/// (x / s)^2 is a number where x^2 is infinite.
bool is_divided_by_size(const LinearForm& form) {
  const auto is_size = [](const Term::Row& row) {
    return row.power < 0 && !is_size_of_squares(row.value, kDeepestRow);
  };
  return llvm::any_of(
      form, [&](const Term& term) { return !term.factors.empty() && llvm::any_of(term.rows, is_size); });
}

}  // namespace

// (r (u + o))^2 = r^2 (u + o)^2: kept together, because the sum of squares has a form that cannot turn
// negative.
std::optional<LinearForm> LinearSplitter::split_square(Value* value) {
  LinearForm scale = constant_form(1);
  for (;;) {
    value = skip_identity(value);
    const Node& node = *value->node();
    if (!node.is(ScalarOp::mul)) break;
    const bool left = row_broadcast(node.operand(0), space_) || splat(node.operand(0));
    const bool right = row_broadcast(node.operand(1), space_) || splat(node.operand(1));
    if (left == right) break;
    auto factor = split(node.operand(left ? 0 : 1));
    scale = *cross(*factor, scale);
    value = node.operand(left ? 1 : 0);
  }
  auto form = split(value);
  if (!form) return std::nullopt;
  LinearForm centred = shift(*form);
  const auto varies = [](const Term& term) { return !term.factors.empty(); };
  auto it = llvm::find_if(centred, varies);
  if (it == centred.end() || centred.size() < 2 || llvm::count_if(centred, varies) != 1) return std::nullopt;
  if (!stands_alone(*it) || !emit_.is_shifted(it->factors[0].value, space_)) return std::nullopt;
  Value* shifted = it->factors[0].value;
  if (is_divided_by_size(*cross(scale, {*it}))) return std::nullopt;
  const double sign = it->coefficient;
  centred.erase(it);
  for (Term& term : centred) term.coefficient *= sign;
  Term square;
  square.factors.push_back({shifted, 1, Kind::square, rows(centred, value->dtype())});
  auto result = cross(scale, scale);
  return cross(*result, {square});
}

bool LinearSplitter::is_multiple(const Term& term) {
  return term.rows.empty() && term.factors.size() == 1 && term.factors[0].kind == Kind::power &&
         term.factors[0].power == 1;
}

bool LinearSplitter::stands_alone(const Term& term) {
  return is_multiple(term) && (term.coefficient == 1 || term.coefficient == -1);
}

std::optional<LinearForm> LinearSplitter::cross(const LinearForm& a, const LinearForm& b) {
  LinearForm form;
  if (a.size() * b.size() > kMostTerms) return std::nullopt;
  for (const Term& left : a)
    for (const Term& right : b) form.push_back(times(left, right));
  return form;
}

namespace {

/// The largest or smallest element, or the sum of exponentials, that the row value is made of; null for
/// others.
const Node* extreme_below(const Value* row, int depth) {
  const Node& node = *row->node();
  if (node.is(Op::reduce))
    return info(node.reduce_op).finds && !info(node.reduce_op).samples ? &node : nullptr;
  if (depth == 0 || (!node.is(Op::pointwise) && !node.is(Op::broadcast))) return nullptr;
  for (const Value* operand : node.operands())
    if (const Node* found = extreme_below(operand, depth - 1)) return found;
  return nullptr;
}

/// Returns whether the form is x - m with such a row value m: it is near some elements, and others may be
/// infinite or masks such as -1e9. A mean is not.
bool has_extreme(const LinearForm& form) {
  return llvm::any_of(form, [](const Term& term) {
    return is_row_term(term) && llvm::any_of(term.rows, [](const Term::Row& row) {
             return extreme_below(row.value, kDeepestRow) != nullptr;
           });
  });
}

}  // namespace

/// Returns whether the form is 1 at one element of the row at most, and 0 elsewhere: iota = k for a row value
/// k.
bool is_one_hot(const LinearForm& form, const RowSpace& space) {
  if (form.size() != 1 || form[0].factors.size() != 1 || form[0].factors[0].kind != Kind::when) return false;
  const Node& condition = *form[0].factors[0].value->node();
  if (!condition.is(ScalarOp::eq) || space.axes.size() != 1) return false;
  const auto counts = [&](const Value* value) {
    return value->node()->is(Op::iota) && value->node()->get(attr::axis) == space.axes[0];
  };
  const Value *a = condition.operand(0), *b = condition.operand(1);
  return (counts(a) && row_broadcast(b, space)) || (counts(b) && row_broadcast(a, space));
}

bool multiplies(const LinearForm& form) {
  return llvm::any_of(form, [](const Term& term) {
    return llvm::any_of(term.factors, [](const Term::Factor& f) { return f.kind == Kind::power; });
  });
}

/// (x - m) (z - n) with an infinite x and finite m has the sign of z - n, but x z - x n is NaN where z and n
/// have one sign. And no sample of x keeps the digits of (x - m) z where z is 0 at masks, which the sample
/// may be one of.
std::optional<LinearForm> LinearSplitter::cross_varying(const LinearForm& a, const LinearForm& b) {
  if (mode_ == Mode::plain) return cross(a, b);
  // Weighted squares have no form that stays as precise.
  if (llvm::any_of(a, has_square) || llvm::any_of(b, has_square)) return std::nullopt;
  if (multiplies(a) && multiplies(b) && (is_divided_by_size(a) || is_divided_by_size(b))) return std::nullopt;
  if (is_one_hot(b, space_)) return cross(a, b);  // of one x, which needs no shift
  if (has_extreme(a) || has_extreme(b)) return std::nullopt;
  return cross(with_joined_samples(shift(a)), with_joined_samples(shift(b)));
}

namespace {

using Rows = llvm::ArrayRef<Term::Row>;

/// Returns the value whose statistic or sample a row value is; null for other row values.
const Value* sampled(const Value* row) {
  const Node* node = row->node();
  if (node->is(ScalarOp::select)) node = node->operand(1)->node();
  return node->is(Op::reduce) ? node->operand(0) : nullptr;
}

/// Returns whether the rows are the same but for one of each: `a` and `b`.
bool same_but_for(Rows x, const Term::Row& a, Rows y, const Term::Row& b) {
  const auto keys = [](Rows rows, const Term::Row& left_out) {
    llvm::SmallVector<std::pair<const Value*, int>, 4> list;
    for (const Term::Row& row : rows)
      if (&row != &left_out) list.push_back({row.value, row.power});
    llvm::sort(list);
    return list;
  };
  return keys(x, a) == keys(y, b);
}

/// The rows, one of each term, in which two terms differ: a sample of a value, and another statistic of it.
std::optional<std::pair<const Term::Row*, const Term::Row*>> sample_and_statistic(const Term& x,
                                                                                  const Term& y) {
  if (!is_row_term(x) || !is_row_term(y) || x.rows.size() != y.rows.size()) return std::nullopt;
  for (const Term::Row& a : x.rows)
    for (const Term::Row& b : y.rows)
      if (a.power == 1 && b.power == 1 && is_element(a.value) && !is_element(b.value) &&
          sampled(a.value) == sampled(b.value) && same_but_for(x.rows, a, y.rows, b))
        return std::pair(&a, &b);
  return std::nullopt;
}

}  // namespace

/// r x0 - r s, where s is a sum over x of which x0 is an element, becomes r (x0 - s): squared, r^2 x0^2 -
/// 2 r^2 x0 s + r^2 s^2 would lose the digits that the difference keeps where the row is one element.
LinearForm LinearSplitter::with_joined_samples(LinearForm form) {
  for (size_t i = 0; i < form.size(); ++i)
    for (size_t j = 0; j < form.size(); ++j) {
      const auto found = i == j ? std::nullopt : sample_and_statistic(form[i], form[j]);
      if (!found) continue;
      Term sample, statistic;
      sample.coefficient = form[i].coefficient, statistic.coefficient = form[j].coefficient;
      sample.rows = {*found->first}, statistic.rows = {*found->second};
      Value* difference = rows({sample, statistic}, dtype_);
      form[i].coefficient = 1;
      form[i].rows[static_cast<size_t>(found->first - form[i].rows.begin())] = {difference};
      form.erase(form.begin() + static_cast<std::ptrdiff_t>(j));
      return with_joined_samples(std::move(form));
    }
  return form;
}

std::optional<LinearSplitter::Extreme> LinearSplitter::extreme_of(const LinearForm& form) {
  for (const Term& term : form) {
    if (!is_row_term(term) || term.rows.size() != 1 || term.rows[0].power != 1) continue;
    const Node* extreme = extreme_below(term.rows[0].value, kDeepestRow);
    if (!extreme) continue;
    const Term of = without_row_factors(extreme->operand(0))[0];
    for (const Term& other : form)
      if (of.rows.empty() && is_multiple(other) && numbers_.same(of.factors[0].value, other.factors[0].value))
        return Extreme{term.rows[0].value, other.factors[0].value, of.coefficient};
  }
  return std::nullopt;
}

LinearForm LinearSplitter::shift(LinearForm form) {
  const auto offset = [&](const Term& term) {
    return term.factors.empty() &&
           llvm::any_of(term.rows, [&](const Term::Row& r) { return depends_(r.value); });
  };
  if (llvm::none_of(form, offset)) return form;
  LinearForm firsts;
  for (Term& term : form) {
    if (term.factors.empty() || has_square(term)) continue;
    Value* whole_product = product(term.factors, dtype_);
    if (emit_.is_shifted(whole_product, space_)) continue;
    Value* shifted = emit_.shifted(whole_product, space_);
    Term first = term;
    first.factors.clear();
    first.rows.push_back({emit_.shift(whole_product, space_)});
    firsts.push_back(first);
    term.factors.assign(1, {shifted});
  }
  form.insert(form.end(), firsts.begin(), firsts.end());
  return form;
}

// ---- back to values

namespace {

/// The values that the factors multiply by (sign 1) or divide by (sign -1), each as often as its power says.
llvm::SmallVector<Value*, 4> powers(llvm::ArrayRef<Term::Factor> factors, int sign) {
  llvm::SmallVector<Value*, 4> values;
  for (const Term::Factor& f : factors)
    if (f.kind == Kind::power && sign * f.power > 0) values.append(sign * f.power, f.value);
  return values;
}

}  // namespace

/// Multiplies and divides by turns, so that x^2 / y^2 does not overflow where x / y is small.
Value* LinearSplitter::quotient(llvm::ArrayRef<Value*> above, llvm::ArrayRef<Value*> below,
                                const Type& type) {
  Value* result = above.empty() ? emit_.splat(1, type) : above.front();
  for (size_t i = 0; i < std::max(above.size(), below.size()); ++i) {
    if (i > 0 && i < above.size()) result = emit_.mul(result, above[i]);
    if (i < below.size()) result = emit_.div(result, below[i]);
  }
  return result;
}

Value* LinearSplitter::product(llvm::ArrayRef<Term::Factor> factors, DType dtype) {
  for (const Term::Factor& f : factors)
    if (f.kind == Kind::power && is_float(f.value->dtype())) dtype = f.value->dtype();
  const Type type{dtype, space_.shape};
  Value* result = quotient(powers(factors, 1), powers(factors, -1), type);
  Value* zero = nullptr;
  for (const Term::Factor& f : factors) {
    if (f.kind != Kind::when && f.kind != Kind::unless) continue;
    if (!zero) zero = emit_.splat(0, type);
    result = f.kind == Kind::when ? emit_.pointwise(ScalarOp::select, {f.value, result, zero})
                                  : emit_.pointwise(ScalarOp::select, {f.value, zero, result});
  }
  return result;
}

Value* LinearSplitter::monomial(const Term& term, DType dtype) {
  Value* result = nullptr;
  for (const Term::Row& row : term.rows)
    for (int i = 0; i < row.power; ++i) result = result ? emit_.mul(result, row.value) : row.value;
  const double coefficient = result ? term.coefficient : 1;
  if (!result) result = emit_.splat(term.coefficient, {dtype, space_.row_shape()});
  for (const Term::Row& row : term.rows)
    for (int i = 0; i < -row.power; ++i) result = emit_.div(result, row.value);
  return emit_.scale(result, coefficient);
}

Value* LinearSplitter::times_rows(Value* sum, const Term& term) {
  llvm::SmallVector<Value*, 4> above = {sum}, below;
  for (const Term::Row& row : term.rows)
    (row.power > 0 ? above : below).append(std::abs(row.power), row.value);
  return emit_.scale(quotient(above, below, sum->type), term.coefficient);
}

Value* LinearSplitter::rows(llvm::ArrayRef<Term> terms, DType dtype) {
  // a - b rather than a + (-b), and elements before computed statistics.
  std::vector<Term> order(terms.begin(), terms.end());
  std::stable_sort(order.begin(), order.end(), [](const Term& a, const Term& b) {
    return std::tuple(!is_element(a), a.coefficient < 0) < std::tuple(!is_element(b), b.coefficient < 0);
  });
  Value* result = nullptr;
  for (Term& term : order) {
    const bool negative = result && term.coefficient < 0;
    if (negative) term.coefficient = -term.coefficient;
    Value* value = monomial(term, dtype);
    result = !result ? value : negative ? emit_.sub(result, value) : emit_.add(result, value);
  }
  return result;
}

std::vector<std::vector<LinearTerm>> group_by_factors(const LinearForm& form, ValueNumbers& numbers) {
  using Key = std::vector<std::tuple<unsigned, int, int, unsigned>>;
  std::map<Key, size_t> index;
  std::vector<std::vector<LinearTerm>> groups;
  for (const LinearTerm& term : form) {
    Key key;
    for (const LinearTerm::Factor& f : term.factors)
      key.emplace_back(numbers.of(f.value), f.power, static_cast<int>(f.kind),
                       f.offset ? numbers.of(f.offset) + 1 : 0);
    std::sort(key.begin(), key.end());
    const auto [it, fresh] = index.try_emplace(key, groups.size());
    if (fresh) groups.emplace_back();
    groups[it->second].push_back(term);
  }
  return groups;
}

}  // namespace smelt
