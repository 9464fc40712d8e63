#include "passes/graph/reductions/row_ranges.h"

#include <cmath>

#include "llvm/ADT/STLExtras.h"
#include "passes/analysis.h"

namespace smelt {
namespace {

constexpr int kDeepestValue = 12;
constexpr double kLeast = 0x1p-100;  // of a value that is not small: its inverse is finite in float32
constexpr double kMost = 0x1p20;     // of a number that is divided by such a value

bool small_never(const Value* value, int depth);

/// The sum of exponentials below a row's largest element has a 1. Of a row of -infinity it is 0, and so are
/// the exponentials NaN.
bool is_sum_of_exponentials(const Value& value) {
  return value.node()->is(ReduceOp::max_sumexp) && value.index() == 1;
}

bool pointwise_small_never(const Node& node, int depth) {
  const auto never = [&](unsigned i) { return small_never(node.operand(i), depth); };
  switch (node.scalar_op) {
    case ScalarOp::add:
      return (never(0) && non_negative(node.operand(1))) || (never(1) && non_negative(node.operand(0)));
    case ScalarOp::max:
      return never(0) || never(1);
    case ScalarOp::min:
      return never(0) && never(1);
    case ScalarOp::select:
      return never(1) && never(2);
    case ScalarOp::sqrt:
      return never(0);
    default:
      return false;
  }
}

bool small_never(const Value* value, int depth) {
  if (depth == 0) return false;
  const Node& node = *value->node();
  if (const auto number = splat(value)) return *number >= kLeast;
  if (is_sum_of_exponentials(*value)) return true;
  if (node.is(Op::pointwise)) return pointwise_small_never(node, depth - 1);
  return is_view(node) && small_never(node.operand(0), depth - 1);
}

bool infinite_never(const Value* value, int depth);

bool pointwise_infinite_never(const Node& node, int depth) {
  const auto never = [&](unsigned i) { return infinite_never(node.operand(i), depth); };
  const auto below = [&](unsigned i, double most) {
    const auto number = splat(node.operand(i));
    return number && std::fabs(*number) <= most;
  };
  switch (node.scalar_op) {
    case ScalarOp::tanh:
    case ScalarOp::sigmoid:
    case ScalarOp::erf:
    case ScalarOp::sin:
    case ScalarOp::cos:
    case ScalarOp::sign:
      return true;
    case ScalarOp::rsqrt:
    case ScalarOp::reciprocal:
      return small_never(node.operand(0), depth);
    case ScalarOp::div:
      return below(0, kMost) && small_never(node.operand(1), depth);
    case ScalarOp::mul:
      return (never(0) && below(1, 1)) || (never(1) && below(0, 1));
    case ScalarOp::neg:
    case ScalarOp::abs:
      return never(0);
    case ScalarOp::max:
    case ScalarOp::min:
      return never(0) && never(1);
    case ScalarOp::select:
      return never(1) && never(2);
    default:
      return false;
  }
}

bool infinite_never(const Value* value, int depth) {
  if (depth == 0) return false;
  const Node& node = *value->node();
  if (const auto number = splat(value)) return std::isfinite(*number);
  if (!is_float(value->dtype()) || is_sum_of_exponentials(*value)) return true;
  if (node.is(Op::pointwise)) return pointwise_infinite_never(node, depth - 1);
  const bool passes = is_view(node) || (node.is(Op::convert) && !is_float(node.operand(0)->dtype()));
  return passes && infinite_never(node.operand(0), depth - 1);
}

}  // namespace

bool is_never_infinite(const Value* value) { return infinite_never(value, kDeepestValue); }
bool is_never_small(const Value* value) { return small_never(value, kDeepestValue); }

}  // namespace smelt
