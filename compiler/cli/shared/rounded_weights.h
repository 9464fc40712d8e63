// Weights that are at most one rounding away from a model's: the gradients there show how much of an error in
// gradients any computation in that precision may have, because rounding a value is the same as having been
// given another one.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/session/session.h"

namespace smelt::cli {

/// Returns half the distance between neighbouring numbers just above 1: 2^-8 for bf16, 2^-11 for fp16 and for
/// tf32, whose matmuls read as many bits, and 2^-24 for fp32.
double unit_roundoff(std::string_view precision);

/// Multiplies each trained weight by 1 + `unit` r, where r is uniform in [-1, 1] and a function of `draw`.
/// Requires: a plan in fp32.
void move_weights(Session& session, double unit, uint32_t draw);

}  // namespace smelt::cli
