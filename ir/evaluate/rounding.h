// Rounding of numbers to storage types.
#pragma once

#include <cstdint>

#include "runtime/dtype.h"

namespace smelt {

/// The nearest number of a floating-point type (ties to even, overflow to infinity); a whole number towards
/// zero for an integer type; 0 or 1 for a boolean.
double round_to(DType type, double x);

/// x or one of its two bf16 neighbours: 16 random bits are added below the cut, so that the expectation is x.
float round_stochastically(float x, uint32_t bits);

}  // namespace smelt
