// Exact algebra of row values: every value computed from reductions over one row space, as a polynomial
// (powers may be negative) in sums over the row of products, in the row's length and in opaque row values. It
// recognises values that are algebraically zero, such as the sum of deviations from the mean.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "llvm/ADT/DenseMap.h"
#include "passes/graph/reductions/linear_form.h"

namespace smelt {

class RowAlgebra {
 public:
  RowAlgebra(RowEmitter& emit, ValueNumbers& numbers, RowSpace space)
      : emit_(emit), numbers_(numbers), space_(std::move(space)) {}

  const RowSpace& space() const { return space_; }
  /// Returns whether the sum of the value over the row is zero for all data.
  bool sum_is_zero(Value* value);
  /// Returns whether two row values are equal for all data.
  bool equal(Value* a, Value* b);
  /// Returns whether factor * (length of the row) = 1.
  bool is_reciprocal_of_count(Value* factor);
  /// Returns whether the value needs a reduction over the row within its kernel (`first` included).
  bool touches(const Value* value);
  static bool is_residual(const Node& sum, const Value* operand);

 private:
  using Monomial = std::vector<std::pair<unsigned, int>>;  // sorted (atom, power)
  struct Coefficient {
    double sum = 0, magnitude = 0;  // a sum far below its parts is a rounded zero
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
  std::map<std::string, unsigned> atoms_;
  std::map<unsigned, Polynomial> rows_;  // by value number
  llvm::DenseMap<const Value*, bool> touches_;
  int depth_ = 0;
};

}  // namespace smelt
