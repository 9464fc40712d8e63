// Short forms of functions. What a kernel that reads or writes bf16 or f16 computes is off by more than their
// last digits in memory anyway.
#pragma once

#include "ir/kernel.h"

namespace smelt {

/// In a kernel with a 16-bit parameter gives the form `fast` to every function that has a short one, and
/// `fast_tangent` where that loses its digits near 0 and somebody sees them (adding 1 hides them).
void choose_fast_forms(Kernel& kernel);

}  // namespace smelt
