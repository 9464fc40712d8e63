// Exact integer arithmetic of the evaluator, modulo 2^bits as in kernels. Operands are whole numbers stored
// as doubles.
#pragma once

#include <array>
#include <optional>

#include "ir/ops/op.h"
#include "runtime/base/dtype.h"

namespace smelt {

/// Returns x wrapped to an integer type of b bits: the number of that type that equals x modulo 2^b. For
/// booleans, returns whether x is not zero.
int64_t wrapped(DType type, int64_t x);

/// Returns x, a number of type `from`, converted to the integer type `to`. A float is truncated towards zero
/// and saturated to 32 bits (64 if `to` is i64); NaN becomes 0. The result is wrapped to `to`.
int64_t converted_to_integer(DType from, DType to, double x);

/// Returns op(operands) for whole numbers of the integer type `type`. Returns nothing for operations that
/// cannot overflow, such as max and comparisons, because doubles compute these exactly. The result of x / 0
/// is x.
std::optional<int64_t> whole_result(ScalarOp op, DType type, const std::array<double, 3>& operands);

/// Returns whether a double represents the number exactly.
bool is_double(int64_t x);

}  // namespace smelt
