#include "passes/graph/simplify/seen_keys.h"

#include <limits>
#include <optional>

#include "ir/analysis/uses.h"
#include "ir/graph/attention_body.h"
#include "ir/graph/body.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

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

bool may_mask(const Node& node) {
  if (!node.body) return false;
  return llvm::any_of(body_arguments(node),
                      [](const BodyArgument& a) { return is_float(a.input->dtype()); }) ||
         llvm::any_of(node.body->nodes(), [](const auto& inner) {
           return inner->is(Op::constant) &&
                  splat(inner->result()) == -std::numeric_limits<double>::infinity();
         });
}

namespace {

bool is_lowest(const Value* value) { return splat(value) == -std::numeric_limits<double>::infinity(); }

/// Operations whose results hold elements of their operands, or are computed from single ones.
bool passes_elements(const Node& node) {
  static constexpr Op kOps[] = {Op::pointwise,     Op::convert, Op::broadcast,     Op::reshape,
                                Op::transpose,     Op::slice,   Op::concat,        Op::gather,
                                Op::stop_gradient, Op::insert,  Op::strided_slice, Op::pad,
                                Op::with_slopes};
  return llvm::is_contained(kOps, node.op());
}

/// Returns whether the node itself makes -inf of finite numbers, or may be anything.
bool makes_lowest(const Node& node) {
  if (node.is(Op::input)) return true;
  if (node.is(Op::constant) && node.has(attr::values) && is_float(node.result()->dtype()))
    return llvm::is_contained(node.get(attr::values), -std::numeric_limits<double>::infinity());
  if (node.is(Op::constant)) return is_lowest(node.result());
  if (node.is(Op::pad)) return node.get(attr::value) == -std::numeric_limits<double>::infinity();
  const bool divides = node.is(ScalarOp::div) && !splat(node.operand(1));
  return divides || node.is(ScalarOp::log) || node.is(ScalarOp::log1p) || node.is(ScalarOp::reciprocal);
}

bool may_be_lowest(const Value* value, llvm::DenseSet<const Value*>& seen) {
  if (!is_float(value->dtype()) || !seen.insert(value).second) return false;
  const Node& node = *value->node();
  if (makes_lowest(node)) return true;
  return passes_elements(node) &&
         llvm::any_of(node.operands(), [&](const Value* operand) { return may_be_lowest(operand, seen); });
}

}  // namespace

bool may_see_no_key(const Node& node) {
  if (!may_mask(node)) return false;
  const Node& root = *node.body->outputs[0].value->node();
  if (root.is(ScalarOp::select) && is_lowest(root.operand(2)) && every_query_sees_a_key(root.operand(0)))
    return false;
  llvm::DenseSet<const Value*> seen;
  const auto reads = body_arguments(node);
  return llvm::any_of(reads, [&](const BodyArgument& a) { return may_be_lowest(a.operand, seen); }) ||
         llvm::any_of(node.body->nodes(),
                      [](const auto& inner) { return !inner->is(Op::input) && makes_lowest(*inner); });
}

}  // namespace smelt
