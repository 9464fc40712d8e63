// Weights that differ from a model's by at most one rounding in a precision such as bf16. Their exact
// gradients differ from those of the model's weights about as much as gradients that are computed in this
// precision may, because a computation with rounding errors has the result of an exact computation with
// slightly different inputs.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/session/session.h"

namespace smelt::cli {

/// Returns half the distance between neighbouring numbers just above 1: 2^-8 for bf16, 2^-11 for fp16 and
/// tf32 (whose matmuls read operands with as many bits as fp16 has), and 2^-24 for fp32.
double unit_roundoff(std::string_view precision);

/// Multiplies each trained weight by 1 + `unit` * r, where r is random and uniform in [-1, 1]. `draw`: the
/// seed. Requires: a plan in fp32.
void move_weights(Session& session, double unit, uint32_t draw);

}  // namespace smelt::cli
