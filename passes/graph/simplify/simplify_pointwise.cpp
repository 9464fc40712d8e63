#include <cmath>

#include "ir/evaluate/scalar_reference.h"
#include "ir/evaluate/whole_numbers.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/graph/simplify/simplify_rules.h"

namespace smelt {
namespace {

bool is_integer(const Value* value) { return !is_float(value->dtype()); }

/// No infinity and no NaN, whatever the data: x * 0 = 0 holds.
bool surely_finite(const Value* value) {
  if (is_integer(value)) return true;
  const auto number = number_of(value);
  return number && std::isfinite(*number);
}

// ---- constants

Value* fold(GraphBuilder& b, const Node& node) {
  std::array<double, 3> numbers = {0, 0, 0};
  for (unsigned i = 0; i < node.operands().size(); ++i) {
    const auto number = number_of(node.operand(i));
    if (!number) return nullptr;
    numbers[i] = *number;
  }
  const DType type = node.result()->dtype();
  if (is_integer(node.result()) && type != DType::boolean)
    if (const auto whole = whole_result(node.scalar_op, type, numbers))
      return is_double(*whole) ? b.constant(static_cast<double>(*whole), node.result()->type) : nullptr;
  return b.constant(apply(node.scalar_op, numbers[0], numbers[1], numbers[2]), node.result()->type);
}

/// Moves numbers to the right, where the other rules expect them.
Value* number_to_the_right(GraphBuilder& b, const Node& node) {
  if (!info(node.scalar_op).commutative || !number_of(node.operand(0)) || number_of(node.operand(1)))
    return nullptr;
  return b.pointwise(node.scalar_op, {node.operand(1), node.operand(0)});
}

// ---- neutral elements

Value* neutral(GraphBuilder&, const Node& node) {
  const std::optional<double> number = info(node.scalar_op).neutral;
  return number && is_number(node.operand(1), *number) ? node.operand(0) : nullptr;
}

Value* times_zero(GraphBuilder&, const Node& node) {
  if (!node.is(ScalarOp::mul) || !is_number(node.operand(1), 0)) return nullptr;
  return surely_finite(node.operand(0)) ? node.operand(1) : nullptr;
}

Value* same_operands(GraphBuilder& b, const Node& node) {
  if (node.operands().size() != 2 || node.operand(0) != node.operand(1)) return nullptr;
  if (info(node.scalar_op).idempotent) return node.operand(0);
  if (node.is(ScalarOp::sub) && surely_finite(node.operand(0))) return b.like(node.operand(0), 0);
  return nullptr;
}

// ---- signs

Value* negations(GraphBuilder& b, const Node& node) {
  if (node.is(ScalarOp::neg) && node.operand(0)->node()->is(ScalarOp::neg))
    return node.operand(0)->node()->operand(0);
  if (node.is(ScalarOp::logical_not) && node.operand(0)->node()->is(ScalarOp::logical_not))
    return node.operand(0)->node()->operand(0);
  if (node.is(ScalarOp::mul) && is_number(node.operand(1), -1)) return b.neg(node.operand(0));
  if (node.is(ScalarOp::sub) && is_number(node.operand(0), 0)) return b.neg(node.operand(1));
  return nullptr;
}

Value* add_of_negation(GraphBuilder& b, const Node& node) {
  const bool add = node.is(ScalarOp::add), sub = node.is(ScalarOp::sub);
  if (!add && !sub) return nullptr;
  Value *left = node.operand(0), *right = node.operand(1);
  if (right->node()->is(ScalarOp::neg)) {
    Value* plain = right->node()->operand(0);
    return add ? b.sub(left, plain) : b.add(left, plain);
  }
  if (add && left->node()->is(ScalarOp::neg)) return b.sub(right, left->node()->operand(0));
  return nullptr;
}

// ---- factors

/// (x * c) * d = x * (c d): one rounding less.
Value* factors(GraphBuilder& b, const Node& node) {
  if (!node.is(ScalarOp::mul) || is_integer(node.result())) return nullptr;
  const Node* inner = node.operand(0)->node();
  const auto outer = number_of(node.operand(1));
  if (!outer) return nullptr;
  if (inner->is(ScalarOp::neg)) return b.mul(inner->operand(0), b.like(node.result(), -*outer));
  if (!inner->is(ScalarOp::mul)) return nullptr;
  const auto factor = number_of(inner->operand(1));
  return factor ? b.mul(inner->operand(0), b.like(node.result(), *factor * *outer)) : nullptr;
}

/// x / c = x * (1 / c) where 1 / c is exact.
Value* exact_reciprocal(GraphBuilder& b, const Node& node) {
  if (!node.is(ScalarOp::div) || is_integer(node.result())) return nullptr;
  const auto divisor = number_of(node.operand(1));
  int exponent = 0;
  if (!divisor || !std::isfinite(*divisor) || std::abs(std::frexp(*divisor, &exponent)) != 0.5)
    return nullptr;
  if (std::abs(exponent) > 100) return nullptr;
  return b.mul(node.operand(0), b.like(node.result(), 1 / *divisor));
}

// ---- select

Value* select_rules(GraphBuilder& b, const Node& node) {
  if (!node.is(ScalarOp::select)) return nullptr;
  Value *condition = node.operand(0), *yes = node.operand(1), *no = node.operand(2);
  if (const auto known = number_of(condition)) return *known != 0 ? yes : no;
  if (yes == no) return yes;
  if (number_of(yes) && number_of(no) && *number_of(yes) == *number_of(no)) return yes;
  if (condition->node()->is(ScalarOp::logical_not)) return b.select(condition->node()->operand(0), no, yes);
  const Node *inner_yes = yes->node(), *inner_no = no->node();
  if (inner_yes->is(ScalarOp::select) && inner_yes->operand(0) == condition)
    return b.select(condition, inner_yes->operand(1), no);
  if (inner_no->is(ScalarOp::select) && inner_no->operand(0) == condition)
    return b.select(condition, yes, inner_no->operand(2));
  return nullptr;
}

// ---- places

/// Places along an axis are never below 0.
Value* place_against_number(GraphBuilder& b, const Node& node) {
  if (node.operands().size() != 2 || !node.operand(0)->node()->is(Op::iota)) return nullptr;
  const auto number = number_of(node.operand(1));
  if (node.is(ScalarOp::ge) && number && *number <= 0) return b.like(node.result(), 1);
  if (node.is(ScalarOp::lt) && number && *number <= 0) return b.like(node.result(), 0);
  return nullptr;
}

// ---- across other ops

/// a + scatter_add(0, i, u) = scatter_add(a, i, u)
Value* add_into_scatter(GraphBuilder& b, const Node& node) {
  if (!node.is(ScalarOp::add)) return nullptr;
  for (unsigned side : {0u, 1u}) {
    Value *scattered = node.operand(side), *other = node.operand(1 - side);
    const Node* scatter = scattered->node();
    if (!scatter->is(Op::scatter_add) || !is_number(scatter->operand(0), 0) || !has_one_use(*scattered))
      continue;
    return b.create(Op::scatter_add, {other, scatter->operand(1), scatter->operand(2)}, scatter->attributes)
        ->result();
  }
  return nullptr;
}

/// An op on broadcasts over the same axes (and numbers) happens before the broadcast, on fewer elements.
Value* before_broadcast(GraphBuilder& b, const Node& node) {
  const Node* broadcast = nullptr;
  for (Value* operand : node.operands()) {
    const Node* maker = operand->node();
    if (number_of(operand)) continue;
    if (!maker->is(Op::broadcast)) return nullptr;
    if (broadcast && (maker->get(attr::axes) != broadcast->get(attr::axes) ||
                      maker->operand(0)->shape() != broadcast->operand(0)->shape()))
      return nullptr;
    broadcast = maker;
  }
  if (!broadcast) return nullptr;
  llvm::SmallVector<Value*, 3> operands;
  for (Value* operand : node.operands()) {
    const auto number = number_of(operand);
    const Type small = {operand->dtype(), broadcast->operand(0)->shape()};
    operands.push_back(number ? b.constant(*number, small) : operand->node()->operand(0));
  }
  return b.broadcast(b.pointwise(node.scalar_op, operands), broadcast->get(attr::axes),
                     node.result()->shape());
}

constexpr SimplifyRule kPointwiseRules[] = {
    fold,
    number_to_the_right,
    neutral,
    times_zero,
    same_operands,
    negations,
    add_of_negation,
    factors,
    exact_reciprocal,
    select_rules,
    place_against_number,
    add_into_scatter,
    before_broadcast,
};

}  // namespace

llvm::ArrayRef<SimplifyRule> pointwise_rules() { return kPointwiseRules; }

}  // namespace smelt
