// Conversion of arrays of numbers between f32 and narrower storage types.
#pragma once

#include <cstdint>

#include "runtime/base/dtype.h"

namespace smelt {

/// Converts `count` elements of the type f32, bf16, f16 or i8 to f32. Throws Error for other types.
void widen(const void* from, DType type, float* to, int64_t count);
/// Converts `count` elements from f32 to f32, bf16 or f16, rounded to nearest, ties to even. Throws Error for
/// other types.
void narrow(const float* from, void* to, DType type, int64_t count);

}  // namespace smelt
