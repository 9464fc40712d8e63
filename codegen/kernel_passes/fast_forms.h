// Short forms of functions, for results that are rounded to bf16 or f16: the rounding loses more than a short
// form.
#pragma once

#include "ir/kernel/kernel.h"

namespace smelt {

/// Chooses fast forms in a kernel with a 16-bit parameter. Every function that has a short form, and whose
/// values reach memory only rounded to 16 bits, gets the form `fast`. It gets `fast_tangent` where the short
/// form loses digits near 0 that influence the result (an addition of 1 hides them). Sums of exponentials are
/// fast in each such kernel, because large exponentials, which dominate the sum, keep their digits.
void choose_fast_forms(Kernel& kernel);

}  // namespace smelt
