// Comparisons with a constant that hold for every number, but not for NaN: |x| >= 0, exp(x) > -1.
#pragma once

#include "ir/kernel/kernel.h"

namespace smelt {

/// Writes such a comparison as x == x. ptxas (CUDA 13.0) otherwise folds it to true where it knows the sign
/// of x, also for a NaN.
void order_comparisons(Kernel& kernel);

}  // namespace smelt
