// Matmuls of large odd extents, such as a vocabulary of 50,257, in two: cuBLASLt's kernels for extents that
// are no multiples of 8 take four times as long (docs/benchmarks.md).
#pragma once

#include <vector>

#include "runtime/plan/plan.h"

namespace smelt {

/// Returns the steps that together do this one, in order. A large extent that is no multiple of 8 is split
/// into a multiple of 8 and a remainder below 8. Only matmuls of 16-bit types are split.
std::vector<GemmStep> cut_gemm(const GemmStep& step);

}  // namespace smelt
