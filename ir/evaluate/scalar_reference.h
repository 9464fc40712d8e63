// Reference functions of the scalar operations in ir/ops/scalar_ops.def: one function per operation,
// math::reference_add(a, b, c) and so on, and apply(), which selects one by ScalarOp. T is float, double or a
// dual number.
#pragma once

#include "ir/evaluate/dual.h"
#include "ir/ops/op.h"

namespace smelt {
namespace math {

#define SMELT_SCALAR_OP(name, reference, ...)                                  \
  template <typename T>                                                        \
  T reference_##name([[maybe_unused]] const T& a, [[maybe_unused]] const T& b, \
                     [[maybe_unused]] const T& c) {                            \
    return reference;                                                          \
  }
#include "ir/ops/scalar_ops.def"

}  // namespace math

/// Returns op(a, b, c); operands beyond the op's arity are ignored. Booleans are returned as 0 and 1.
template <typename T>
T apply(ScalarOp op, const T& a, const T& b = T(0), const T& c = T(0)) {
  switch (op) {
#define SMELT_REFERENCE(name, ...) \
  case ScalarOp::name:             \
    return math::reference_##name(a, b, c);
    SMELT_SCALAR_OPS(SMELT_REFERENCE)
#undef SMELT_REFERENCE
  }
  return a;
}

}  // namespace smelt
