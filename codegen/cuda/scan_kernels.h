// The kernels of ScanStep; docs/cuda.md has their signatures.
#pragma once

#include <string>
#include <vector>

#include "runtime/plan/plan.h"

namespace smelt {

/// Of lines whose elements lie together, and of others. Each takes the sizes that the other one leaves.
std::vector<KernelCode> scan_kernels(const std::string& kind, DType dtype, bool exclusive);

}  // namespace smelt
