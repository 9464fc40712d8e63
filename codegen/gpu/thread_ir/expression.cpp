#include "codegen/gpu/thread_ir/expression.h"

#include <algorithm>
#include <tuple>

namespace smelt::gpu {
namespace {

using Kind = ExprNode::Kind;

/// The type of a sum or product: that of the operand which comes later in this list.
Type common_type(const Type& a, const Type& b) {
  constexpr Scalar kOrder[] = {Scalar::flag,  Scalar::byte,  Scalar::int32, Scalar::bits,
                               Scalar::index, Scalar::int64, Scalar::real,  Scalar::wide_real};
  const auto rank = [&](const Type& type) { return std::ranges::find(kOrder, type.scalar) - kOrder; };
  if (a.pointer || b.pointer) return a.pointer ? a : b;
  return rank(a) < rank(b) ? b : a;
}

Expr binary(BinaryOp op, const Expr& a, const Expr& b, const Type& type) {
  ExprNode node{.kind = Kind::binary, .type = type, .operands = {a, b}};
  node.binary = op;
  return Expr(std::move(node));
}

Expr arithmetic(BinaryOp op, const Expr& a, const Expr& b) {
  return binary(op, a, b, common_type(a.type(), b.type()));
}

Expr comparison(BinaryOp op, const Expr& a, const Expr& b) { return binary(op, a, b, Scalar::flag); }

}  // namespace

Scalar computed_type(DType type) {
  if (type == DType::boolean) return Scalar::flag;
  if (type == DType::i64) return Scalar::int64;
  return is_float(type) ? Scalar::real : Scalar::int32;
}

Expr::Expr(ExprNode node) : node_(std::make_shared<const ExprNode>(std::move(node))) {}
Expr Expr::int32_number(int64_t number) { return gpu::number(number, Scalar::int32); }

const Type& Expr::type() const { return node_->type; }

bool Expr::is_zero() const {
  return node_ && node_->kind == Kind::number && node_->integer == 0 && node_->real == 0;
}

// ---- leaves

Expr number(int64_t value, Scalar type) {
  return Expr({.kind = Kind::number, .type = type, .integer = value});
}
Expr real_number(double value) { return Expr({.kind = Kind::number, .type = Scalar::real, .real = value}); }
Expr bits(uint32_t value) { return number(value, Scalar::bits); }
Expr variable(std::string name, Type type) {
  return Expr({.kind = Kind::variable, .type = type, .name = std::move(name)});
}
Expr thread_number() { return Expr({.kind = Kind::thread, .type = Scalar::bits}); }
Expr block_number() { return Expr({.kind = Kind::block, .type = Scalar::bits}); }

// ---- trees

Expr operator+(const Expr& a, const Expr& b) { return arithmetic(BinaryOp::add, a, b); }
Expr operator-(const Expr& a, const Expr& b) { return arithmetic(BinaryOp::subtract, a, b); }
Expr operator*(const Expr& a, const Expr& b) { return arithmetic(BinaryOp::multiply, a, b); }
Expr operator/(const Expr& a, const Expr& b) { return arithmetic(BinaryOp::divide, a, b); }
Expr operator%(const Expr& a, const Expr& b) { return arithmetic(BinaryOp::remainder, a, b); }
Expr operator<<(const Expr& a, const Expr& b) { return binary(BinaryOp::shift_left, a, b, a.type()); }
Expr operator>>(const Expr& a, const Expr& b) { return binary(BinaryOp::shift_right, a, b, a.type()); }
Expr operator&(const Expr& a, const Expr& b) { return arithmetic(BinaryOp::bit_and, a, b); }
Expr operator<(const Expr& a, const Expr& b) { return comparison(BinaryOp::less, a, b); }
Expr operator<=(const Expr& a, const Expr& b) { return comparison(BinaryOp::less_equal, a, b); }
Expr operator>(const Expr& a, const Expr& b) { return comparison(BinaryOp::greater, a, b); }
Expr operator>=(const Expr& a, const Expr& b) { return comparison(BinaryOp::greater_equal, a, b); }
Expr operator==(const Expr& a, const Expr& b) { return comparison(BinaryOp::equal, a, b); }
Expr operator!=(const Expr& a, const Expr& b) { return comparison(BinaryOp::unequal, a, b); }
Expr operator!(const Expr& a) {
  return Expr({.kind = Kind::negation, .type = Scalar::flag, .operands = {a}});
}

Expr operator&&(const Expr& a, const Expr& b) {
  if (a.is_nothing() || b.is_nothing()) return a ? a : b;
  return comparison(BinaryOp::logical_and, a, b);
}

Expr operator||(const Expr& a, const Expr& b) { return comparison(BinaryOp::logical_or, a, b); }

Expr rounded_difference(const Expr& a, const Expr& b) {
  return Expr({.kind = Kind::difference, .type = a.type(), .operands = {a, b}});
}

Expr choice(const Expr& condition, const Expr& then, const Expr& otherwise) {
  return Expr({.kind = Kind::choice,
               .type = common_type(then.type(), otherwise.type()),
               .operands = {condition, then, otherwise}});
}

Expr cast(const Expr& value, const Type& type) {
  return Expr({.kind = Kind::cast, .type = type, .operands = {value}});
}

Expr retyped(const Expr& value, const Type& type) {
  ExprNode node = *value;
  node.type = type;
  return Expr(std::move(node));
}

Expr element(const Expr& array, const Expr& index) {
  Type type = array.type();
  if (type.rank > 0)
    --type.rank;
  else
    type.pointer = false;
  return Expr({.kind = Kind::element, .type = type, .operands = {array, index}});
}

Expr load(const Expr& element) {
  return Expr({.kind = Kind::load, .type = computed_type(element.type().element), .operands = {element}});
}

Expr rounded(const Expr& value, DType element) {
  ExprNode node{.kind = Kind::rounded, .type = value.type(), .operands = {value}};
  node.element = element;
  return Expr(std::move(node));
}

Expr shuffled(const Expr& mask, const Expr& value, const Expr& distance) {
  return Expr({.kind = Kind::shuffled, .type = value.type(), .operands = {mask, value, distance}});
}

Expr argument_of_copy(std::string name, const Type& type) {
  return Expr({.kind = Kind::argument, .type = type, .name = std::move(name)});
}

Expr call(std::string name, std::vector<Expr> operands, const Type& type, std::vector<Expr> constants) {
  ExprNode node{.kind = Kind::call, .type = type, .operands = std::move(operands), .name = std::move(name)};
  node.constants = std::move(constants);
  return Expr(std::move(node));
}

bool same_tree(const Expr& a, const Expr& b) {
  if (a.is_nothing() || b.is_nothing()) return a.is_nothing() == b.is_nothing();
  const auto facts = [](const ExprNode& x) {
    return std::tie(x.kind, x.integer, x.real, x.name, x.binary, x.op, x.precision, x.reduce, x.slot,
                    x.element);
  };
  return facts(*a) == facts(*b) && a->type == b->type &&
         std::ranges::equal(a->operands, b->operands, same_tree) &&
         std::ranges::equal(a->constants, b->constants, same_tree);
}

}  // namespace smelt::gpu
