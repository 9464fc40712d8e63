// The functions of each reduction in ir/ops/reduce_ops.def, as short lists of scalar operations that code
// generators translate. The accumulator of a reduction is a state of one to four scalars. The function
// `identity` returns the state of no elements, and `lift` the state of one element. `combine` merges the
// states of two sets of elements, and `finish` computes a result from the final state.
#pragma once

#include <array>
#include <vector>

#include "ir/ops/op.h"

namespace smelt {

/// One step of a ReductionFunction: a leaf, or a scalar operation on the values of earlier steps.
struct ReductionStep {
  enum class Kind : uint8_t {
    element,    // leaf: the reduced element, an argument of `lift`
    place,      // leaf: the i32 index of that element among the reduced ones
    left,       // leaf: a scalar of the left state of `combine`, or of the state of `finish`
    right,      // leaf: a scalar of the right state of `combine`
    number,     // leaf: a constant of the element's type
    index,      // leaf: a constant i32 index
    lowest,     // leaf: -infinity, or the smallest integer of the element's type
    highest,    // leaf: +infinity, or the largest integer of the element's type
    operation,  // `op` of `operands`
  };
  Kind kind = Kind::number;
  int slot = 0;                                // for left and right: the number of the scalar in the state
  double number = 0;                           // for number and index: the constant
  ScalarOp op{};                               // for operation
  std::array<int, 3> operands = {-1, -1, -1};  // for operation: numbers of earlier steps; -1: no operand
  bool operator==(const ReductionStep&) const = default;
};

/// One function of a reduction. No two of its steps are equal.
struct ReductionFunction {
  std::vector<ReductionStep> steps;
  std::vector<int> results;  // numbers of the steps whose values are returned
};

/// All functions of one reduction.
struct ReductionCode {
  ReductionFunction identity, lift, combine;
  std::vector<ReductionFunction> finish;  // one per result
  /// Returns whether `lift` reads the index of its element.
  bool reads_place() const;
};
const ReductionCode& reduction_code(ReduceOp op);
/// Returns whether `combine` computes a function such as exp (ScalarOpInfo::expensive). Only such a reduction
/// can be computed with shorter, less exact code (Form::fast in ir/kernel/kernel.h).
bool is_expensive(ReduceOp op);

/// Returns the results of `function` as values of a code generator. leaf(step) makes the value of a leaf, and
/// apply(op, operands) that of an operation; they are called in the order of the steps.
template <typename Value, typename Leaf, typename Apply>
std::vector<Value> translate(const ReductionFunction& function, Leaf leaf, Apply apply) {
  std::vector<Value> values, results;
  for (const ReductionStep& step : function.steps) {
    if (step.kind != ReductionStep::Kind::operation) {
      values.push_back(leaf(step));
      continue;
    }
    std::vector<Value> operands;
    for (int operand : step.operands)
      if (operand >= 0) operands.push_back(values[operand]);
    values.push_back(apply(step.op, operands));
  }
  for (int result : function.results) results.push_back(values[result]);
  return results;
}

}  // namespace smelt
