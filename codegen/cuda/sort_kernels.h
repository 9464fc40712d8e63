// The kernels of SortIndexStep, the same in every plan; docs/cuda.md has their signatures.
#pragma once

#include <vector>

#include "runtime/plan/plan.h"

namespace smelt {

inline constexpr const char *kRankName = "smelt_sort_rank", *kBeginsName = "smelt_sort_begins";

/// Both, in the order in which a step runs them.
std::vector<KernelCode> sort_kernels();

}  // namespace smelt
