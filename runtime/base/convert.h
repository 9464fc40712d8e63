// Conversion of float arrays between storage types, rounded to nearest even.
#pragma once

#include <cstdint>

#include "runtime/base/dtype.h"

namespace smelt {

/// Supports f32, bf16 and f16, and `widen` i8; throws Error for anything else.
void widen(const void* from, DType type, float* to, int64_t count);
void narrow(const float* from, void* to, DType type, int64_t count);

}  // namespace smelt
