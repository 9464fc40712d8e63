// The kernel of TopKStep; docs/cuda.md has its signature.
#pragma once

#include "runtime/plan/plan.h"

namespace smelt {

KernelCode top_k_kernel(int64_t k);

}  // namespace smelt
