#include "passes/graph/reductions/row_algebra.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "llvm/ADT/STLExtras.h"

namespace smelt {
namespace {

// Constants such as 1/768 are rounded, perhaps to float32.
constexpr double kRounding = 1e-6;
constexpr size_t kMostMonomials = 96;
constexpr int kMostRowDepth = 24;

std::string factor_key(const LinearTerm& term, ValueNumbers& numbers) {
  std::vector<std::string> parts;
  for (const LinearTerm::Factor& f : term.factors)
    for (int i = 0; i < std::abs(f.power); ++i)
      parts.push_back(
          fmt::format("{}{}{}", numbers.of(f.value), f.power < 0 ? "/" : "*", static_cast<int>(f.kind)));
  std::sort(parts.begin(), parts.end());
  std::string key = "sum";
  for (const std::string& part : parts) key += " " + part;
  return key;
}

}  // namespace

// ---- polynomials

RowAlgebra::Polynomial RowAlgebra::constant(double value) {
  if (value == 0) return {};
  return {{Monomial{}, {value, std::abs(value)}}};
}

RowAlgebra::Polynomial RowAlgebra::atom(const std::string& key) {
  const unsigned id = atoms_.try_emplace(key, static_cast<unsigned>(atoms_.size())).first->second;
  return {{Monomial{{id, 1}}, {1, 1}}};
}

RowAlgebra::Polynomial RowAlgebra::plus(Polynomial a, const Polynomial& b, double sign) {
  for (const auto& [monomial, c] : b) {
    a[monomial].sum += sign * c.sum;
    a[monomial].magnitude += c.magnitude;
  }
  drop_zeros(a);
  return a;
}

void RowAlgebra::drop_zeros(Polynomial& polynomial) {
  std::erase_if(polynomial, [](const auto& item) {
    return std::abs(item.second.sum) <= kRounding * item.second.magnitude;
  });
}

RowAlgebra::Monomial RowAlgebra::product(const Monomial& left, const Monomial& right) {
  Monomial result;
  result.reserve(left.size() + right.size());
  std::ranges::merge(left, right, std::back_inserter(result), {}, &Monomial::value_type::first,
                     &Monomial::value_type::first);
  size_t count = 0;
  for (const auto& atom : result)  // an atom of both stands twice, side by side
    if (count > 0 && result[count - 1].first == atom.first)
      count -= (result[count - 1].second += atom.second) == 0;
    else
      result[count++] = atom;
  result.resize(count);
  return result;
}

RowAlgebra::Polynomial RowAlgebra::times(const Polynomial& a, const Polynomial& b) {
  Polynomial result;
  for (const auto& [left, x] : a)
    for (const auto& [right, y] : b) {
      Coefficient& c = result[product(left, right)];
      c.sum += x.sum * y.sum;
      c.magnitude += std::abs(x.sum * y.sum);
    }
  drop_zeros(result);
  return result;
}

bool RowAlgebra::vanishes(const Polynomial& polynomial) { return polynomial.empty(); }

// ---- values

/// A residual that a matmul reads as well is in memory, whatever it was made of: a chain of blocks that end
/// in a norm would otherwise be one expression from the first to the last.
bool RowAlgebra::is_residual(const Node& sum, const Value* operand) {
  return (sum.is(ScalarOp::add) || sum.is(ScalarOp::sub)) &&
         llvm::any_of(operand->users(), [](const Node* user) { return user->is(Op::matmul); });
}

bool RowAlgebra::touches(const Value* value) {
  if (auto it = touches_.find(value); it != touches_.end()) return it->second;
  const Node& node = *value->node();
  bool result = reduces_over(node, space_);
  if (!result && !is_barrier(node) && !node.is(Op::reduce))
    result = llvm::any_of(node.operands(), [&](const Value* operand) {
      return !is_residual(node, operand) && touches(operand);
    });
  return touches_[value] = result;
}

bool RowAlgebra::sum_is_zero(Value* value) { return touches(value) && vanishes(of_sum(value)); }

bool RowAlgebra::equal(Value* a, Value* b) { return vanishes(plus(of_row(a), of_row(b), -1)); }

bool RowAlgebra::is_reciprocal_of_count(Value* factor) {
  return vanishes(plus(times(of_row(factor), count()), constant(1), -1));
}

RowAlgebra::Polynomial RowAlgebra::count() { return extents(space_.count()); }

RowAlgebra::Polynomial RowAlgebra::extents(const Dim& n) {
  if (auto number = n.constant()) return constant(static_cast<double>(*number));
  return atom("dim " + n.str());
}

// The number of ones along symbolic axes, however it is spread over the rows.
std::optional<RowAlgebra::Polynomial> RowAlgebra::counted(Value* row) {
  const Node* node = row->node();
  while (node->is(Op::broadcast)) node = node->operand(0)->node();
  if (!node->is(ReduceOp::add)) return std::nullopt;
  const auto each = splat(node->operand(0));
  if (!each) return std::nullopt;
  return times(constant(*each), extents(row_space(*node).count()));
}

RowAlgebra::Polynomial RowAlgebra::of_row(Value* row) {
  row = skip_identity(row);
  if (auto value = splat(row)) return constant(*value);
  const unsigned number = numbers_.of(row);
  if (auto it = rows_.find(number); it != rows_.end()) return it->second;
  Polynomial result;
  if (++depth_ < kMostRowDepth) result = of_node(row);
  if (depth_ >= kMostRowDepth || result.size() > kMostMonomials) result = opaque(row);
  --depth_;
  return rows_[number] = result;
}

RowAlgebra::Polynomial RowAlgebra::of_node(Value* row) {
  const Node& node = *row->node();
  const auto operand = [&](unsigned i) { return of_row(node.operand(i)); };
  if (auto n = counted(row)) return *n;
  if (node.is(ReduceOp::add) && reduces_over(node, space_)) return of_sum(node.operand(0));
  if (node.is(ScalarOp::add)) return plus(operand(0), operand(1), 1);
  if (node.is(ScalarOp::sub)) return plus(operand(0), operand(1), -1);
  if (node.is(ScalarOp::neg)) return times(operand(0), constant(-1));
  if (node.is(ScalarOp::mul)) {
    const Polynomial a = operand(0), b = operand(1);
    if (a.size() * b.size() <= kMostMonomials) return times(a, b);
  }
  if (node.is(ScalarOp::div)) return times(operand(0), power(node.operand(1), -1));
  if (node.is(ScalarOp::reciprocal)) return power(node.operand(0), -1);
  return opaque(row);
}

RowAlgebra::Polynomial RowAlgebra::opaque(Value* row) {
  return atom(fmt::format("row {}", numbers_.of(row)));
}

RowAlgebra::Polynomial RowAlgebra::power(Value* row, int exponent) {
  Polynomial factor = of_row(row);
  if (exponent < 0) {
    if (factor.size() != 1) factor = opaque(row);
    const auto& [monomial, c] = *factor.begin();
    Monomial inverse = monomial;
    for (auto& atom : inverse) atom.second = -atom.second;
    factor = {{inverse, {1 / c.sum, std::abs(1 / c.sum)}}};
  }
  Polynomial result = factor;
  for (int i = 1; i < std::abs(exponent); ++i) result = times(result, factor);
  return result;
}

RowAlgebra::Polynomial RowAlgebra::of_sum(Value* value) {
  const auto depends = [this](Value* v) { return touches(v); };
  LinearSplitter splitter(emit_, numbers_, space_, depends, LinearSplitter::Mode::plain);
  const auto form = splitter.split(value);
  Polynomial result;
  for (const LinearTerm& part : *form) result = plus(std::move(result), term(part), 1);
  return result;
}

RowAlgebra::Polynomial RowAlgebra::term(const LinearTerm& term) {
  Polynomial result = term.factors.empty() ? count() : atom(factor_key(term, numbers_));
  result = times(result, constant(term.coefficient));
  for (const LinearTerm::Row& row : term.rows) {
    Polynomial factor = power(row.value, row.power);
    if (result.size() * factor.size() > kMostMonomials) factor = opaque(row.value);
    result = times(result, factor);
  }
  return result;
}

}  // namespace smelt
