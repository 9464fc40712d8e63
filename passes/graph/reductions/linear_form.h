// Linear form of a value: a sum of terms. Each term is the product of a constant coefficient, row values (one
// number per row) and factors that vary along the row. A row is the set of elements that one reduction
// combines (RowSpace in passes/analysis.h). If a term is summed over the row, the coefficient and the row
// values can be multiplied after the sum. A sum then need not wait for an earlier reduction that computes one
// of the row values.
#pragma once

#include <optional>
#include <vector>

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "passes/graph/reductions/row_emitter.h"

namespace smelt {

/// One term: coefficient * product of `rows` * product of `factors`.
struct LinearTerm {
  /// Power of a row value.
  struct Row {
    Value* value;  // of the shape RowSpace::row_shape()
    int power = 1;
  };
  /// Meaning of a factor that varies along the row.
  enum class Kind : uint8_t {
    power,   // value ^ power
    when,    // the term is 0 where the boolean `value` is false
    unless,  // the term is 0 where the boolean `value` is true
    square,  // (value + offset)^2, where a sample (RowEmitter::sample) has been subtracted from `value`
  };
  struct Factor {
    Value* value;
    int power = 1;
    Kind kind = Kind::power;
    Value* offset = nullptr;  // of `square`: a row value; else null
  };

  double coefficient = 1;
  llvm::SmallVector<Row, 2> rows;
  llvm::SmallVector<Factor, 2> factors;
};
using LinearForm = std::vector<LinearTerm>;

/// Splits values into linear forms. Only values for which `depends` is true are split. Any other value
/// becomes one varying factor. In exact mode, factors that are constants or row values are separated from
/// such a value.
///
/// The exact mode is for rewrites: a value has no form if its split would make rounding errors larger. The
/// plain mode is for comparisons of expressions: rounding errors do not matter, and a value that cannot be
/// split becomes one varying factor.
class LinearSplitter {
 public:
  enum class Mode { exact, plain };
  LinearSplitter(RowEmitter& emit, ValueNumbers& numbers, RowSpace space,
                 llvm::function_ref<bool(Value*)> depends, Mode mode)
      : emit_(emit), numbers_(numbers), space_(std::move(space)), depends_(depends), mode_(mode) {}

  /// Returns the form of the value, or nothing if it has none.
  std::optional<LinearForm> split(Value* value);
  /// Subtracts a sample x0 of the row from the varying factors, to make rounding errors smaller: x - s
  /// becomes (x - x0) - (s - x0). Here s is a term without varying factors, in which `depends` is true for a
  /// row value. If the form has no such term, it is returned unchanged.
  LinearForm shift(LinearForm form);

  /// Two terms of a form, such as those of x - max(x). One term is a multiple of the varying value `element`.
  /// The other is a multiple of the row value `row`, which is computed from the maximum or minimum of
  /// `factor` times `element` over the row.
  struct Extreme {
    Value *row, *element;
    double factor;
  };
  /// Returns two such terms of the form, or nothing if there are none.
  std::optional<Extreme> extreme_of(const LinearForm& form);

  // ---- back to values
  /// Returns the product of the varying factors, without those of the kind `square`.
  Value* product(llvm::ArrayRef<LinearTerm::Factor> factors, DType dtype);
  /// Returns `sum` times the coefficient and the row values of the term. Multiplications and divisions
  /// alternate, so that intermediate results neither overflow nor become 0.
  Value* times_rows(Value* sum, const LinearTerm& term);
  /// Returns whether the term has one row value, which is an element or a sample of the row.
  static bool is_element(const LinearTerm& term);
  /// Returns the sum of coefficient * row values over the terms, which is a row value. Terms for which
  /// is_element holds are added first. Returns null if there are no terms.
  Value* rows(llvm::ArrayRef<LinearTerm> terms, DType dtype);

 private:
  LinearForm without_row_factors(Value* value);
  std::optional<LinearForm> split_dependent(Value* value);
  std::optional<LinearForm> split_pointwise(const Node& node);
  std::optional<LinearForm> split_sum(const Node& node, double sign);
  std::optional<LinearForm> split_product(Value* a, Value* b);
  std::optional<LinearForm> split_quotient(const Node& node);
  std::optional<LinearForm> split_select(const Node& node);
  std::optional<LinearForm> split_square(Value* value);
  std::optional<LinearForm> cross(const LinearForm& a, const LinearForm& b);
  std::optional<LinearForm> cross_varying(const LinearForm& a, const LinearForm& b);
  LinearForm with_joined_samples(LinearForm form);
  /// Returns whether the term is a number times one varying value.
  static bool is_multiple(const LinearTerm& term);
  /// Returns whether the term is one varying value or its negative.
  static bool stands_alone(const LinearTerm& term);
  Value* quotient(llvm::ArrayRef<Value*> above, llvm::ArrayRef<Value*> below, const Type& type);
  Value* monomial(const LinearTerm& term, DType dtype);

  RowEmitter& emit_;
  ValueNumbers& numbers_;
  RowSpace space_;
  llvm::function_ref<bool(Value*)> depends_;
  Mode mode_;
  DType dtype_ = DType::f32;  // of the value being split
  int depth_ = 0;
};

/// Returns groups of the terms that have the same varying factors, in order of first appearance.
std::vector<std::vector<LinearTerm>> group_by_factors(const LinearForm& form, ValueNumbers& numbers);

}  // namespace smelt
