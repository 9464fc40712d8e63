// Random changes of a model's weights by at most one rounding in a precision such as bf16. They show how
// large an error of gradients the precision may cause: gradients that are computed in the precision may
// differ from the exact ones about as much as such a change of the weights changes the exact gradients.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/session/session.h"

namespace smelt::cli {

/// Returns half the distance from 1 to the next larger number of the precision: 2^-8 for bf16, 2^-11 for fp16
/// and tf32, and 2^-24 for fp32.
double unit_roundoff(std::string_view precision);

/// Multiplies each trained weight by 1 + `unit` * r, where r is random and uniform in [-1, 1]. `draw`: the
/// seed of the random numbers. Requires: a plan in fp32.
void move_weights(Session& session, double unit, uint32_t draw);

}  // namespace smelt::cli
