// The kernels of SortIndexStep, the same in every plan; docs/cuda.md has their signatures.
#pragma once

#include <vector>

#include "runtime/plan/plan.h"

namespace smelt {

/// "smelt_sort_rank" and "smelt_sort_begins", with source and sizes of blocks.
std::vector<KernelCode> sort_kernels();

}  // namespace smelt
