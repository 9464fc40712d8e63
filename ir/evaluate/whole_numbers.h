// Exact arithmetic on whole numbers, modulo 2^bits as kernels do it. Numbers are held as doubles.
#pragma once

#include <array>
#include <optional>

#include "ir/op.h"
#include "runtime/dtype.h"

namespace smelt {

/// Returns x modulo 2^bits as an element of an integer type; of a boolean whether it is not zero.
int64_t wrapped(DType type, int64_t x);

/// Returns what a conversion to an integer type makes of x: a float is cut towards zero and saturates at 32
/// bits (at 64 where the type has them), then it wraps to the width of the type. NaN becomes 0.
int64_t converted_to_integer(DType from, DType to, double x);

/// Returns op(operands) for whole numbers of the type `type`; nothing for operations without integer
/// arithmetic, which doubles compute exactly. x / 0 is x.
std::optional<int64_t> whole_result(ScalarOp op, DType type, const std::array<double, 3>& operands);

/// Whether a double holds the number.
bool is_double(int64_t x);

}  // namespace smelt
