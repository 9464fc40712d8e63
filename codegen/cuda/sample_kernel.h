// The kernels of SampleStep; docs/cuda.md has their signature.
#pragma once

#include <vector>

#include "runtime/plan/plan.h"

namespace smelt {

/// For a GPU of this compute capability: of long rows and of short ones, or of all. Each takes the sizes that
/// the other one leaves.
std::vector<KernelCode> sample_kernels(int compute_capability);

}  // namespace smelt
