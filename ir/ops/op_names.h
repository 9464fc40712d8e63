// Names of scalar operations and of reductions. The number after a scalar operation is its number of
// operands. The properties of the operations are in scalar_ops.def and reduce_ops.def, one row per operation,
// in the order of this file. They are not in this file, so that a changed row recompiles only the files that
// read rows.
#pragma once

#include <cstdint>

// clang-format off
#define SMELT_SCALAR_OPS(X)                                                                  \
  X(add, 2) X(sub, 2) X(mul, 2) X(div, 2) X(max, 2) X(min, 2) X(neg, 1) X(abs, 1) X(sign, 1) \
  X(exp, 1) X(expm1, 1) X(log, 1) X(log1p, 1) X(sqrt, 1) X(rsqrt, 1) X(reciprocal, 1)        \
  X(tanh, 1) X(sigmoid, 1) X(erf, 1) X(erfc, 1) X(sin, 1) X(cos, 1) X(floor, 1) X(round, 1) \
  X(lt, 2) X(le, 2) X(gt, 2) X(ge, 2) X(eq, 2) X(ne, 2)                                      \
  X(logical_and, 2) X(logical_or, 2) X(logical_not, 1) X(select, 3)

#define SMELT_REDUCE_OPS(X) \
  X(add) X(max) X(min) X(argmax) X(max_sumexp) X(first) X(pivot) X(mean_variance)
// clang-format on

namespace smelt {

#define SMELT_NAME(name, ...) name,
enum class ScalarOp : uint8_t { SMELT_SCALAR_OPS(SMELT_NAME) };
enum class ReduceOp : uint8_t { SMELT_REDUCE_OPS(SMELT_NAME) };
#undef SMELT_NAME

}  // namespace smelt
