// Algebra of row values. A row is the set of elements that a reduction reduces to one result (RowSpace in
// passes/analysis.h). A row value has one element per row. It is represented as a polynomial, in which powers
// may be negative. Its variables are sums of products over the row, the row's length, and other row values.
// In this form, values that are algebraically zero are recognised, such as the sum of deviations from the
// mean.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "llvm/ADT/DenseMap.h"
#include "passes/graph/reductions/linear_form.h"

namespace smelt {

/// Row algebra for one row space.
class RowAlgebra {
 public:
  RowAlgebra(RowEmitter& emit, ValueNumbers& numbers, RowSpace space)
      : emit_(emit), numbers_(numbers), space_(std::move(space)) {}

  const RowSpace& space() const { return space_; }
  /// Returns whether the value depends on a reduction over the row, and its sum over the row is proven to be
  /// zero for all finite data.
  bool sum_is_zero(Value* value);
  /// Returns whether two row values are proven to be equal for all finite data.
  bool equal(Value* a, Value* b);
  /// Returns whether factor * (length of the row) is proven to be 1.
  bool is_reciprocal_of_count(Value* factor);
  /// Returns whether the value depends on a reduction over the row, and no operation between the two prevents
  /// fusion into one kernel.
  bool touches(const Value* value);
  /// Returns whether `sum` is an addition or subtraction of `operand` and another value, and a matmul also
  /// reads `operand`. `operand` is then in memory, like the values of a residual stream, and is not expanded
  /// further.
  static bool is_residual(const Node& sum, const Value* operand);

 private:
  using Monomial = std::vector<std::pair<unsigned, int>>;  // (number of a variable, power), sorted
  /// `magnitude` is the sum of the absolute values of the numbers that were added to `sum`. If `sum` is far
  /// smaller, it is a rounded zero.
  struct Coefficient {
    double sum = 0, magnitude = 0;
  };
  using Polynomial = std::map<Monomial, Coefficient>;

  Polynomial of_row(Value* row);
  Polynomial of_node(Value* row);
  Polynomial of_sum(Value* value);
  Polynomial power(Value* row, int exponent);
  Polynomial opaque(Value* row);
  Polynomial term(const LinearTerm& term);
  Polynomial count();
  Polynomial extents(const Dim& n);
  std::optional<Polynomial> counted(Value* row);
  Polynomial atom(const std::string& key);
  static Polynomial constant(double value);
  static Monomial product(const Monomial& left, const Monomial& right);
  static Polynomial plus(Polynomial a, const Polynomial& b, double sign);
  static Polynomial times(const Polynomial& a, const Polynomial& b);
  static bool vanishes(const Polynomial& polynomial);
  static void drop_zeros(Polynomial& polynomial);

  RowEmitter& emit_;
  ValueNumbers& numbers_;
  RowSpace space_;
  std::map<std::string, unsigned> atoms_;  // numbers of variables, by a text that identifies each
  std::map<unsigned, Polynomial> rows_;    // by value number
  llvm::DenseMap<const Value*, bool> touches_;
  int depth_ = 0;
};

}  // namespace smelt
