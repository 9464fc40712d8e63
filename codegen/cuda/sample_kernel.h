// Template kernels of runtime/plan/steps/sample.h; docs/cuda.md has their signature.
#pragma once

#include <vector>

#include "runtime/plan/plan.h"

namespace smelt {

/// Returns the kernels for a GPU of this compute capability: for long rows and for short ones, or one for
/// all. Each takes the sizes that the other one leaves.
std::vector<KernelCode> sample_kernels(int compute_capability);

}  // namespace smelt
