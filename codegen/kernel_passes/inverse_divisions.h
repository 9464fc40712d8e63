// A row that is divided by one number is multiplied by its inverse, which costs a division a row.
#pragma once

#include "ir/kernel.h"

namespace smelt {

/// Gives divisions of column values by row scalars, in row kernels, the form `inverse` where the divisor is a
/// sum of exponentials (at least 1: that of the maximum), else `scaled_inverse`.
void divide_by_inverses(Kernel& kernel);

}  // namespace smelt
