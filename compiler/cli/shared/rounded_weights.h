// Weights that differ from a model's by at most one rounding. The gradients at such weights show the error
// that gradients may have in any computation in that precision, because rounding a value has the same effect
// as another input value.
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
