// The outputs of a fusion that may take the memory of an input.
#pragma once

#include <utility>
#include <vector>

#include "codegen/lowering/fusion_kernel.h"

namespace smelt {

/// Pairs of buffers, written and read, where the finished kernel reads each element, at its own place, no
/// later than it is written (Step::may_alias).
std::vector<std::pair<int, int>> aliases_of(const FusionKernel& fusion);
/// Checks that the finished kernel reads each element of an input before it writes the output that shares the
/// input's memory. Throws Error (internal) otherwise.
void check_in_place(const FusionKernel& fusion);

}  // namespace smelt
