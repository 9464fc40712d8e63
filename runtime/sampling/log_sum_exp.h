// Conversion of a row's scores to log-probabilities.
#pragma once

#include <span>

namespace smelt {

/// log(sum of exp(x)) to about 1e-7: exponentials are f32, their sum is not. NaN where there is a NaN or
/// +infinity, -infinity where there is nothing above it.
double log_sum_exp(std::span<const float> x);

}  // namespace smelt
