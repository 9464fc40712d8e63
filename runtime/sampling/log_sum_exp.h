// The logarithm of the sum of the exponentials of a row's scores. Subtracting it from the scores gives
// log-probabilities.
#pragma once

#include <span>

namespace smelt {

/// Returns log(sum_i exp(x[i])), with an error of about 1e-7. The exponentials are computed in f32. A few of
/// them at a time are summed in f32, and these partial sums are added in double. Returns NaN if an element is
/// NaN or +infinity, and -infinity if `x` is empty or all elements are -infinity.
double log_sum_exp(std::span<const float> x);

}  // namespace smelt
