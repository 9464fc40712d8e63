// Rounding of numbers to storage types.
#pragma once

#include "runtime/dtype.h"

namespace smelt {

/// The nearest number of a floating-point type (ties to even, overflow to infinity); a whole number towards
/// zero for an integer type; 0 or 1 for a boolean.
double round_to(DType type, double x);

}  // namespace smelt
