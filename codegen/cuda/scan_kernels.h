// Template kernels of runtime/plan/steps/scan.h; docs/cuda.md has their signatures.
#pragma once

#include <string>
#include <vector>

#include "runtime/plan/plan.h"

namespace smelt {

/// Returns the kernels for lines with contiguous elements, and for others. Each takes the sizes that the
/// other one leaves.
std::vector<KernelCode> scan_kernels(const std::string& kind, DType dtype, bool exclusive);

}  // namespace smelt
