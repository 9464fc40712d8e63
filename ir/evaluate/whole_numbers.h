// Exact arithmetic on whole numbers, modulo 2^bits as kernels do it. Numbers are held as doubles.
#pragma once

#include <array>
#include <optional>

#include "ir/ops/op.h"
#include "runtime/base/dtype.h"

namespace smelt {

/// Returns x modulo 2^bits as an element of an integer type; of a boolean whether it is not zero.
int64_t wrapped(DType type, int64_t x);

/// Returns the conversion of x to an integer type: a float is truncated towards zero and saturates at 32 bits
/// (at 64 if the type has them), then it wraps to the width of the type. NaN becomes 0.
int64_t converted_to_integer(DType from, DType to, double x);

/// Returns op(operands) for whole numbers of the type `type`; nothing for operations without integer
/// arithmetic, which doubles compute exactly. x / 0 is x.
std::optional<int64_t> whole_result(ScalarOp op, DType type, const std::array<double, 3>& operands);

/// Returns whether a double represents the number exactly.
bool is_double(int64_t x);

}  // namespace smelt
