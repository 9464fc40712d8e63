// Matmuls of large odd extents, such as a vocabulary of 50,257, in two: cuBLASLt's kernels for extents that
// are no multiples of 8 take four times as long (docs/benchmarks.md).
#pragma once

#include <vector>

#include "runtime/plan/plan.h"

namespace smelt {

/// The steps that together do this one, in order: over multiples of 8 where an extent is a large number that
/// is none, and over the rest of less than 8. Only matmuls of 16-bit types are cut.
std::vector<GemmStep> cut_gemm(const GemmStep& step);

}  // namespace smelt
