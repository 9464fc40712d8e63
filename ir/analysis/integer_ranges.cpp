#include "ir/analysis/integer_ranges.h"

#include <algorithm>
#include <string>
#include <vector>

namespace smelt {
namespace {

using MaybeRange = std::optional<IndexRange>;

/// Returns whether arithmetic on sizes holds the number.
bool is_small(int64_t x) { return x >= kLeastInteger && x <= kMostInteger; }

/// A size that all of the range is below: the symbolic one, which no number replaces, or the number after the
/// most.
std::optional<Dim> bound_of(const IndexRange& x) {
  if (x.below && !x.below->constant()) return x.below;
  return is_small(x.most) ? std::optional(Dim(x.most) + Dim(1)) : x.below;
}

/// x < m and y < n make x + y < m + n - 1.
std::optional<Dim> below_sum(const IndexRange& x, const IndexRange& y) {
  const auto m = bound_of(x), n = bound_of(y);
  if (!m || !n || (!x.below && !y.below)) return std::nullopt;
  return *m + *n - Dim(1);
}

MaybeRange add(DType type, const IndexRange& x, const IndexRange& y) {
  MaybeRange sum = in_bits_of(type, Bound{x.least} + y.least, Bound{x.most} + y.most);
  if (sum) sum->below = below_sum(x, y);
  return sum;
}

MaybeRange subtract(DType type, const IndexRange& x, const IndexRange& y) {
  MaybeRange difference = in_bits_of(type, Bound{x.least} - y.most, Bound{x.most} - y.least);
  if (difference && x.below && is_small(y.least)) difference->below = *x.below - Dim(y.least);
  return difference;
}

/// 0 <= x < m and 0 <= y < n make x y at most (m - 1) (n - 1).
std::optional<Dim> below_product(const IndexRange& x, const IndexRange& y) {
  const auto m = bound_of(x), n = bound_of(y);
  if (!m || !n || (!x.below && !y.below) || x.least < 0 || y.least < 0) return std::nullopt;
  return (*m - Dim(1)) * (*n - Dim(1)) + Dim(1);
}

MaybeRange multiply(DType type, const IndexRange& x, const IndexRange& y) {
  const auto [least, most] = std::minmax(
      {Bound{x.least} * y.least, Bound{x.least} * y.most, Bound{x.most} * y.least, Bound{x.most} * y.most});
  MaybeRange product = in_bits_of(type, least, most);
  if (product) product->below = below_product(x, y);
  return product;
}

/// Divides whole numbers by positive ones.
MaybeRange divide(const IndexRange& x, const IndexRange& y) {
  if (y.least < 1) return std::nullopt;
  const auto [least, most] =
      std::minmax({x.least / y.least, x.least / y.most, x.most / y.least, x.most / y.most});
  return IndexRange{.least = least, .most = most};
}

IndexRange larger(const IndexRange& x, const IndexRange& y) {
  return {.least = std::max(x.least, y.least), .most = std::max(x.most, y.most)};
}

/// Returns the range of the smaller operand: an upper bound of either side bounds it.
IndexRange smaller(const IndexRange& x, const IndexRange& y) {
  return {.least = std::min(x.least, y.least),
          .most = std::min(x.most, y.most),
          .below = x.below ? x.below : y.below};
}

MaybeRange absolute(DType type, const IndexRange& x) {
  const auto size = [](int64_t number) { return number < 0 ? -Bound{number} : Bound{number}; };
  const Bound least = std::min(size(x.least), size(x.most)), most = std::max(size(x.least), size(x.most));
  return in_bits_of(type, x.least <= 0 && x.most >= 0 ? 0 : least, most);
}

int64_t sign(int64_t x) { return x < 0 ? -1 : x > 0; }

/// The part of x that is not the one number of y.
MaybeRange without(IndexRange x, const IndexRange& y) {
  if (y.beside || y.least != y.most) return x;
  if (x.beside == y.least) x.beside.reset();
  if (x.least == y.least) ++x.least;
  if (x.most == y.least) --x.most;
  if (x.least <= x.most) return x;
  if (!x.beside) return std::nullopt;
  return IndexRange{*x.beside, *x.beside};
}

/// Returns whether x is the one number that y holds outside of its range.
bool is_number_beside(const IndexRange& x, const IndexRange& y) {
  return y.beside && !x.beside && x.least == x.most && x.least == *y.beside;
}

/// Returns whether all of the range is below the size, which zeros are, too.
bool is_below(const IndexRange& x, const std::optional<Dim>& size) {
  return size && (x.below == size || (x.most < 1 && is_never_zero(*size)));
}

}  // namespace

/// Symbols are at least 1, so sums of their products are at least what they are there.
bool is_never_zero(const Dim& dim) {
  int64_t least = 0;
  for (const Dim::Term& term : dim.terms()) {
    if (term.coefficient < 0) return false;
    for (const Atom& atom : term.atoms)
      if (atom.inner) return false;
    least = std::min(kMostInteger, least + std::min(kMostInteger, term.coefficient));
  }
  return least > 0;
}

bool is_never_zero(const Dim& dim, const Symbols& symbols) {
  std::vector<std::string> names;
  dim.collect_symbols(names);
  return is_never_zero(dim) && std::ranges::all_of(names, [&](const std::string& name) {
           return !symbols.declared(name) || symbols.lower(name) >= 1;
         });
}

IndexRange all_of_type(DType type) {
  switch (type) {
    case DType::boolean:
      return {0, 1};
    case DType::u8:
      return {0, UINT8_MAX};
    case DType::i8:
      return {INT8_MIN, INT8_MAX};
    case DType::u16:
      return {0, UINT16_MAX};
    case DType::i64:
      return {INT64_MIN, INT64_MAX};
    default:
      return {kLeastInteger, kMostInteger};
  }
}

MaybeRange in_bits_of(DType type, Bound least, Bound most) {
  const IndexRange kept = all_of_type(type);
  if (least < kept.least || most > kept.most) return std::nullopt;
  return IndexRange{.least = static_cast<int64_t>(least), .most = static_cast<int64_t>(most)};
}

IndexRange hull(const IndexRange& x) {
  if (!x.beside) return x;
  return {.least = std::min(x.least, *x.beside), .most = std::max(x.most, *x.beside)};
}

IndexRange either(const IndexRange& a, const IndexRange& b) {
  if (is_number_beside(a, b)) return of_some(b);
  if (is_number_beside(b, a)) return of_some(a);
  const bool same = a.beside == b.beside;
  const IndexRange x = same ? a : hull(a), y = same ? b : hull(b);
  IndexRange result{.least = std::min(x.least, y.least), .most = std::max(x.most, y.most)};
  if (same) result.beside = a.beside;
  if (is_below(y, x.below))
    result.below = x.below;
  else if (is_below(x, y.below))
    result.below = y.below;
  return result;
}

IndexRange of_some(IndexRange range) {
  range.attained = false;
  return range;
}

MaybeRange integer_result(ScalarOp op, DType type, const IndexRange& x, const IndexRange& y) {
  switch (op) {
    case ScalarOp::add:
      return add(type, x, y);
    case ScalarOp::sub:
      return subtract(type, x, y);
    case ScalarOp::mul:
      return multiply(type, x, y);
    case ScalarOp::div:
      return divide(x, y);
    case ScalarOp::neg:
      return in_bits_of(type, -Bound{x.most}, -Bound{x.least});
    case ScalarOp::abs:
      return absolute(type, x);
    case ScalarOp::sign:
      return IndexRange{sign(x.least), sign(x.most)};
    case ScalarOp::floor:
    case ScalarOp::round:
      return x;
    case ScalarOp::max:
      return larger(x, y);
    case ScalarOp::min:
      return smaller(x, y);
    default:
      return std::nullopt;
  }
}

MaybeRange part(const IndexRange& whole, ScalarOp op, const IndexRange& other) {
  if (op == ScalarOp::ne) return without(of_some(whole), other);
  const bool equal = op == ScalarOp::eq, less = op == ScalarOp::lt, more = op == ScalarOp::gt;
  IndexRange x = of_some(hull(whole));
  const IndexRange y = hull(other);
  if (equal || less || op == ScalarOp::le) {
    if (less && y.most == INT64_MIN) return std::nullopt;
    x.most = std::min(x.most, y.most - less);
    if (!x.below && y.below) x.below = *y.below - Dim(less);
  }
  if (more && y.least == INT64_MAX) return std::nullopt;
  if (equal || more || op == ScalarOp::ge) x.least = std::max(x.least, y.least + more);
  return x.least > x.most ? MaybeRange() : x;
}

}  // namespace smelt
