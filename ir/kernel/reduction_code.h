// Expressions of reduce_ops.def as code: short lists of scalar operations for code generators.
#pragma once

#include <array>
#include <vector>

#include "ir/ops/op.h"

namespace smelt {

/// Step of a function of a reduction: a leaf, or a scalar operation on earlier steps.
struct ReductionStep {
  enum class Kind : uint8_t {
    element,  // x, as the reduction computes with it
    place,    // its place among the reduced elements, an i32
    left,     // a scalar of the left state, or of the only one
    right,    // a scalar of the right state
    number,   // of the element's type
    index,    // a number that is a place
    lowest,   // of the element's type: -infinity, or the smallest integer
    highest,
    operation,
  };
  Kind kind = Kind::number;
  int slot = 0;       // left, right: which scalar of the state
  double number = 0;  // number, index
  ScalarOp op{};      // operation, on these steps (-1: none)
  std::array<int, 3> operands = {-1, -1, -1};
  bool operator==(const ReductionStep&) const = default;
};

/// Function of a reduction. Its steps are distinct, and their order does not depend on the compiler that
/// built this code.
struct ReductionFunction {
  std::vector<ReductionStep> steps;
  std::vector<int> results;  // steps
};

struct ReductionCode {
  ReductionFunction identity, lift, combine;  // each gives the scalars of a state
  std::vector<ReductionFunction> finish;      // one a result
  bool reads_place() const;                   // does lift?
};
const ReductionCode& reduction_code(ReduceOp op);
/// Returns whether functions such as exp take most of its time; only then it has a fast form.
bool is_expensive(ReduceOp op);

/// Returns the results of `function` as values of a target: leaf(step) makes leaves, apply(op, operands)
/// makes operations, in order.
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
