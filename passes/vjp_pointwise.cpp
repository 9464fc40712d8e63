// The derivatives of scalar_ops.def, written out as nodes.
#include "passes/vjp.h"

namespace smelt {
namespace {

/// The `D` of the table's derivative expressions.
struct Derivative {
  GraphBuilder& builder;
  Value *a, *b, *c;  // operands
  Value* y;          // result
  Value* g;          // its cotangent

#define SMELT_SCALAR_OP(name, arity, ...)                                       \
  template <typename... V>                                                      \
  Value* name(V*... values) const {                                             \
    static_assert(sizeof...(V) == arity);                                       \
    return builder.pointwise(ScalarOp::name, {static_cast<Value*>(values)...}); \
  }
#include "ir/scalar_ops.def"

  Value* number(double value) const { return builder.like(y, value); }
  Value* zero() const { return number(0); }
  Value* one() const { return number(1); }
  Value* nothing() const { return nullptr; }
};

using Cotangents3 = llvm::SmallVector<Value*, 3>;

Cotangents3 operand_cotangents(ScalarOp op, const Derivative& D) {
  constexpr Value* none = nullptr;
  switch (op) {
#define SMELT_SCALAR_OP(name, arity, result, reference, cuda, ...) \
  case ScalarOp::name:                                             \
    return {__VA_ARGS__};
#include "ir/scalar_ops.def"
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

}  // namespace smelt
