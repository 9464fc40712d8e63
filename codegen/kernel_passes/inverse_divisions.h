// Replaces the division of a row by one number by a multiplication with its inverse, which costs one division
// per row.
#pragma once

#include "ir/kernel/kernel.h"

namespace smelt {

/// Gives divisions of column values by row scalars, in row kernels, the form `inverse` where the divisor is a
/// sum of exponentials (at least 1: that of the maximum), else `scaled_inverse`.
void divide_by_inverses(Kernel& kernel);

}  // namespace smelt
