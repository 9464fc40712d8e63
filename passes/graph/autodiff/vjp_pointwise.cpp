// The derivatives of scalar_ops.def, written out as nodes.
#include "passes/graph/autodiff/vjp.h"

namespace smelt {
namespace {

/// The `D` of the table's derivative expressions.
struct Derivative {
  GraphBuilder& builder;
  Value *a, *b, *c;  // operands
  Value* y;          // result
  Value* g;          // its cotangent

#define SMELT_MEMBER(name, arity)                                               \
  template <typename... V>                                                      \
  Value* name(V*... values) const {                                             \
    static_assert(sizeof...(V) == arity);                                       \
    return builder.pointwise(ScalarOp::name, {static_cast<Value*>(values)...}); \
  }
  SMELT_SCALAR_OPS(SMELT_MEMBER)
#undef SMELT_MEMBER

  Value* number(double value) const { return builder.like(y, value); }
  Value* zero() const { return number(0); }
  Value* one() const { return number(1); }
  Value* nothing() const { return nullptr; }
  Value* unless_less(Value* p, Value* q) const {
    return select(lt(p, q), zero(), select(eq(p, q), mul(g, number(0.5)), g));
  }
};

using Cotangents3 = llvm::SmallVector<Value*, 3>;

Cotangents3 operand_cotangents(ScalarOp op, const Derivative& D) {
  constexpr Value* none = nullptr;
  switch (op) {
#define SMELT_SCALAR_OP(name, reference, derivatives, ...) \
  case ScalarOp::name:                                     \
    return {derivatives};
#include "ir/ops/scalar_ops.def"
  }
  return {none};
}

}  // namespace

void reverse_pointwise(const Reverse& r) {
  // A square's two equal halves are one product, whose factor 2 joins other constants.
  if (r.node.is(ScalarOp::mul) && r.x(0) == r.x(1))
    return r.add(0, r.b.mul(r.b.mul(r.g(), r.b.like(r.g(), 2)), r.x()));
  const unsigned arity = static_cast<unsigned>(r.node.operands().size());
  auto operand = [&](unsigned i) { return i < arity ? r.node.operand(i) : nullptr; };
  const Derivative d{r.b, operand(0), operand(1), operand(2), r.y(), r.g()};
  const Cotangents3 cotangents = operand_cotangents(r.node.scalar_op, d);
  for (unsigned i = 0; i < cotangents.size() && i < arity; ++i) r.add(i, cotangents[i]);
}

/// The table's expressions multiply a partial derivative by D.g; here that is the operand's tangent.
Forward::Tangents forward_pointwise(const Forward& f) {
  Value* sum = nullptr;
  const auto arity = static_cast<unsigned>(f.node.operands().size());
  const auto operand = [&](unsigned i) { return i < arity ? f.node.operand(i) : nullptr; };
  for (unsigned i = 0; i < arity; ++i) {
    if (!f.t(i)) continue;
    const Derivative d{f.b, operand(0), operand(1), operand(2), f.node.result(), f.t(i)};
    Value* part = operand_cotangents(f.node.scalar_op, d)[i];
    if (part) sum = sum ? f.b.add(sum, part) : part;
  }
  return {sum};
}

}  // namespace smelt
