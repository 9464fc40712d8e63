// Symbolic sizes: polynomials over symbols such as B and T, known only when a plan is launched.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/dtype.h"

namespace smelt {

class Dim;

/// The values of the symbols at one launch.
using SymbolValues = std::map<std::string, int64_t, std::less<>>;

/// One factor of a monomial: a symbol, or ceil_div(inner, divisor) by a constant.
struct Atom {
  std::string name;                  // of a symbol; empty for ceil_div
  std::shared_ptr<const Dim> inner;  // of ceil_div
  int64_t divisor = 1;
  std::strong_ordering operator<=>(const Atom& other) const;
  bool operator==(const Atom& other) const { return (*this <=> other) == 0; }
};

/// A polynomial with integer coefficients: a sum of terms, each a coefficient times a product of atoms.
/// Kept canonical (atoms sorted in a term, terms sorted, no zero coefficient), so that == is structural. A
/// copy is cheap: constants have no terms, and polynomials share theirs.
class Dim {
 public:
  struct Term {
    int64_t coefficient;
    std::vector<Atom> atoms;
    auto operator<=>(const Term&) const = default;
  };

  Dim(int64_t constant = 0) : constant_(constant) {}  // NOLINT: sizes are written as numbers
  static Dim symbol(std::string name);
  /// Parses "B*T + 2*ceil_div(T, 64) - floor_div(T, 2)"; throws Error with the position of the fault.
  static Dim parse(std::string_view text);

  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);
  friend Dim ceil_div(const Dim& a, int64_t divisor);
  Dim& operator+=(const Dim& b) { return *this = *this + b; }
  Dim& operator*=(const Dim& b) { return *this = *this * b; }
  std::strong_ordering operator<=>(const Dim& other) const;
  bool operator==(const Dim& other) const { return (*this <=> other) == 0; }

  bool is_constant() const { return !terms_; }
  std::optional<int64_t> constant() const { return terms_ ? std::nullopt : std::optional(constant_); }
  bool is_zero() const { return !terms_ && constant_ == 0; }
  bool is_one() const { return constant() == 1; }
  /// Returns the exact quotient where it is a polynomial: (B*T*768) / 768 = B*T; nothing otherwise.
  std::optional<Dim> divide(const Dim& divisor) const;
  /// Throws Error for an unknown symbol or on overflow of 64 bits.
  int64_t evaluate(const SymbolValues& values) const;
  std::string str() const;
  /// Returns the terms; none for 0.
  std::vector<Term> terms() const;
  /// Appends the names of all its symbols, including those in ceil_div, without repetition.
  void collect_symbols(std::vector<std::string>& names) const;

 private:
  explicit Dim(std::vector<Term> terms);
  int64_t constant_ = 0;                            // where there are no terms
  std::shared_ptr<const std::vector<Term>> terms_;  // null for a constant
};

/// Returns `dim` with each symbol that `values` names replaced by its size.
Dim substitute(const Dim& dim, const std::map<std::string, Dim, std::less<>>& values);

/// Returns the smallest multiple of `multiple` that is >= a.
inline Dim round_up(const Dim& a, int64_t multiple) { return ceil_div(a, multiple) * multiple; }

Dim ceil_div(const Dim& a, int64_t divisor);
/// Returns the largest integer that is <= a / divisor.
inline Dim floor_div(const Dim& a, int64_t divisor) { return ceil_div(a - (divisor - 1), divisor); }

using Shape = std::vector<Dim>;
Dim element_count(const Shape& shape);
std::string str(const Shape& shape);  // "[B,T,768]"

/// Declared symbols with upper bounds on them and on products of them: B <= 64, 16 <= T <= 256, B*T <= 4096.
/// Every symbol is at least 1 at launch, except those bounded with another `lower`, such as lengths that a
/// convolution shortens. The coordinates of a rank in a mesh begin at 0.
class Symbols {
 public:
  struct Bound {
    std::vector<std::string> factors;  // sorted; one name is the symbol's own bound
    int64_t upper;
    int64_t lower = 1;  // of one symbol alone; 1 for a product
    bool operator==(const Bound&) const = default;
  };

  void bound(std::vector<std::string> factors, int64_t upper, int64_t lower = 1);
  bool declared(std::string_view name) const;
  std::vector<std::string> names() const;  // in order of declaration
  int64_t lower(std::string_view name) const;
  const std::vector<Bound>& bounds() const { return bounds_; }

  /// Returns the largest value `dim` can take under the bounds; throws Error on an unbounded symbol or 64-bit
  /// overflow.
  int64_t upper(const Dim& dim) const;
  /// Throws Error naming the symbol (or product), its value and its bound.
  void check(const SymbolValues& values) const;
  bool operator==(const Symbols&) const = default;

 private:
  std::vector<Bound> bounds_;
};

std::string str(const Symbols::Bound& bound);  // "16 <= T <= 256"

/// Returns the bytes of `elements` elements at the symbols' bounds; throws Error as Symbols::upper does.
int64_t bytes_at_bounds(const Symbols& symbols, const Dim& elements, DType dtype);

}  // namespace smelt
