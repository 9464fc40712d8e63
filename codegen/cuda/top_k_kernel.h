// Template kernels of runtime/plan/steps/top_k.h; docs/cuda.md has their signature.
#pragma once

#include <vector>

#include "runtime/plan/plan.h"

namespace smelt {

/// Returns the kernels for a GPU of this compute capability. Each takes the sizes that the others leave.
std::vector<KernelCode> top_k_kernels(int64_t k, int compute_capability);

}  // namespace smelt
