// Symbolic sizes: polynomials over symbols such as B and T, whose values are known only when a plan is
// launched.
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

/// The values of the symbols at one launch, by name.
using SymbolValues = std::map<std::string, int64_t, std::less<>>;

/// One factor of a term: a symbol, or ceil_div(inner, divisor), the quotient rounded up.
struct Atom {
  std::string name;                  // name of the symbol; empty for ceil_div
  std::shared_ptr<const Dim> inner;  // dividend of ceil_div; null for a symbol
  int64_t divisor = 1;               // of ceil_div: a positive constant
  std::strong_ordering operator<=>(const Atom& other) const;
  bool operator==(const Atom& other) const { return (*this <=> other) == 0; }
};

/// A polynomial with integer coefficients: a sum of terms, each a coefficient times a product of atoms. Equal
/// polynomials have equal representations: the atoms of a term are sorted, terms are sorted, and no
/// coefficient is zero. The order by <=> is only for sorting; it does not compare sizes. A copy is cheap,
/// because copies share the list of terms, and constants have no list. Operators throw Error if a coefficient
/// overflows 64 bits.
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
  /// Returns the quotient if it is a polynomial without remainder, as (B*T*768) / 768 = B*T; else nothing.
  std::optional<Dim> divide(const Dim& divisor) const;
  /// Returns the size for these values. Throws Error if a symbol has no value, or on overflow of 64 bits.
  int64_t evaluate(const SymbolValues& values) const;
  std::string str() const;
  /// Returns the terms; a constant is a term without atoms, and 0 has no terms.
  std::vector<Term> terms() const;
  /// Appends the names of all symbols in this size, also inside ceil_div, that `names` does not have yet.
  void collect_symbols(std::vector<std::string>& names) const;

 private:
  explicit Dim(std::vector<Term> terms);
  int64_t constant_ = 0;                            // the value of a constant
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
/// Returns the product of the dims.
Dim element_count(const Shape& shape);
std::string str(const Shape& shape);  // "[B,T,768]"

/// Declared symbols, and bounds on the values of symbols and of products of symbols: B <= 64, 16 <= T <= 256,
/// B*T <= 4096. A symbol is at least 1 at launch, unless its own bound has another `lower`. Examples of
/// another `lower` are a length that a convolution shortens, and a rank's coordinate in a mesh, which begins
/// at 0.
class Symbols {
 public:
  struct Bound {
    std::vector<std::string> factors;  // symbols of the product, sorted; one name: that symbol alone
    int64_t upper;
    int64_t lower = 1;  // 1 if there are several factors
    bool operator==(const Bound&) const = default;
  };

  /// Adds a bound, or replaces the bound of the same factors. Throws Error if no values can satisfy it
  /// together with the lower bounds of its symbols.
  void bound(std::vector<std::string> factors, int64_t upper, int64_t lower = 1);
  /// Returns whether a bound names the symbol.
  bool declared(std::string_view name) const;
  std::vector<std::string> names() const;  // in order of declaration
  /// Returns the least value of a symbol: 1 if it has no bound of its own.
  int64_t lower(std::string_view name) const;
  const std::vector<Bound>& bounds() const { return bounds_; }

  /// Returns an upper bound of `dim` for all values of the symbols that the bounds allow. Throws Error if a
  /// symbol has no bound, or on overflow of 64 bits.
  int64_t upper(const Dim& dim) const;
  /// Throws Error if the value of a symbol or of a product is outside its bounds. The Error names the symbol
  /// or product, its value and its bound.
  void check(const SymbolValues& values) const;
  bool operator==(const Symbols&) const = default;

 private:
  std::vector<Bound> bounds_;
};

std::string str(const Symbols::Bound& bound);  // "16 <= T <= 256"

/// Returns the bytes of `elements` elements of this type at the symbols' upper bounds. Throws Error as
/// Symbols::upper does.
int64_t bytes_at_bounds(const Symbols& symbols, const Dim& elements, DType dtype);

}  // namespace smelt
