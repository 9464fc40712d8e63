#include "passes/simplify/seen_keys.h"

#include <optional>

#include "ir/analysis/splat.h"

namespace smelt {
namespace {

/// places * t + constant: a value's element at (t, t) of the last two axes.
struct OnDiagonal {
  double places, constant;
};

std::optional<OnDiagonal> on_diagonal(const Value* value) {
  if (const auto constant = splat(value)) return OnDiagonal{0, *constant};
  const Node& node = *value->node();
  if (node.is(Op::iota) && node.get(attr::axis) >= value->rank() - 2) return OnDiagonal{1, 0};
  if (!node.is(ScalarOp::add) && !node.is(ScalarOp::sub)) return std::nullopt;
  const auto a = on_diagonal(node.operand(0)), b = on_diagonal(node.operand(1));
  if (!a || !b) return std::nullopt;
  const double sign = node.is(ScalarOp::add) ? 1 : -1;
  return OnDiagonal{a->places + sign * b->places, a->constant + sign * b->constant};
}

/// The difference of a comparison's sides, where it is the same for all places.
std::optional<double> difference(const Node& comparison) {
  const auto a = on_diagonal(comparison.operand(0)), b = on_diagonal(comparison.operand(1));
  if (!a || !b || a->places != b->places) return std::nullopt;
  return a->constant - b->constant;
}

bool holds(const Node& node) {
  if (node.is(ScalarOp::logical_and))
    return holds(*node.operand(0)->node()) && holds(*node.operand(1)->node());
  if (!node.is(Op::pointwise) || node.operands().size() != 2) return false;
  const auto d = difference(node);
  if (!d) return false;
  return (node.is(ScalarOp::ge) && *d >= 0) || (node.is(ScalarOp::gt) && *d > 0) ||
         (node.is(ScalarOp::le) && *d <= 0) || (node.is(ScalarOp::lt) && *d < 0);
}

}  // namespace

bool every_query_sees_a_key(const Value* seen) {
  const Shape& shape = seen->shape();
  const size_t rank = shape.size();
  return rank >= 2 && shape[rank - 2] == shape[rank - 1] && holds(*seen->node());
}

}  // namespace smelt
