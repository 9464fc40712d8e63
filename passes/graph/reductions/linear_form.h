// Linear form of a value of a row space: a sum of terms, each coefficient * row values * factors that vary
// along the row. Row values move out of sums over the row, which makes dependent reductions independent.
#pragma once

#include <optional>
#include <vector>

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "passes/graph/reductions/row_emitter.h"

namespace smelt {

struct LinearTerm {
  struct Row {
    Value* value;  // of the row shape
    int power = 1;
  };
  /// Form in which a varying factor enters the product.
  enum class Kind : uint8_t {
    power,   // value ^ power
    when,    // the product where `value` holds, else 0
    unless,  // the product where it does not hold, else 0
    square,  // (value + offset)^2 with value shifted by the row's sample and offset a row value
  };
  struct Factor {
    Value* value;
    int power = 1;
    Kind kind = Kind::power;
    Value* offset = nullptr;
  };

  double coefficient = 1;
  llvm::SmallVector<Row, 2> rows;
  llvm::SmallVector<Factor, 2> factors;
};
using LinearForm = std::vector<LinearTerm>;

/// Splits values into linear forms. `depends` selects the values that must be split; the others stay whole.
/// In exact mode a value has no form if it cannot be split without losing digits. In plain mode, which only
/// recognises equal expressions and emits nothing but row values, such a value stays whole.
class LinearSplitter {
 public:
  enum class Mode { exact, plain };
  LinearSplitter(RowEmitter& emit, ValueNumbers& numbers, RowSpace space,
                 llvm::function_ref<bool(Value*)> depends, Mode mode)
      : emit_(emit), numbers_(numbers), space_(std::move(space)), depends_(depends), mode_(mode) {}

  std::optional<LinearForm> split(Value* value);
  /// Returns the form with shifted varying factors where a factor is next to a dependent row value: x - s
  /// becomes (x - x0) - (s - x0), whose parts are as small as their difference.
  LinearForm shift(LinearForm form);

  /// Row value that is the largest or smallest `factor` * `element`, where multiples of both are terms of the
  /// form.
  struct Extreme {
    Value *row, *element;
    double factor;
  };
  std::optional<Extreme> extreme_of(const LinearForm& form);

  // ---- back to values
  Value* product(llvm::ArrayRef<LinearTerm::Factor> factors, DType dtype);
  /// Returns sum * coefficient * rows. Multiplications and divisions alternate, because 1 / s^2 may be 0
  /// where sum / s^2 is not.
  Value* times_rows(Value* sum, const LinearTerm& term);
  /// Returns whether the term is a number times one row value that is an element of the row, or a sample of
  /// it.
  static bool is_element(const LinearTerm& term);
  /// Returns the sum of coefficient * rows over the terms, exact elements first; nothing if it is plain 1.
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

/// Groups terms that vary with the same factors, in order of first appearance.
std::vector<std::vector<LinearTerm>> group_by_factors(const LinearForm& form, ValueNumbers& numbers);

}  // namespace smelt
