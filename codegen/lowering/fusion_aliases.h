// Which outputs of a fusion may take the memory of an input.
#pragma once

#include <utility>
#include <vector>

#include "codegen/lowering/fusion_kernel.h"

namespace smelt {

/// Pairs of buffers, written and read, where the finished kernel reads each element, at its own place, no
/// later than it is written (Step::may_alias).
std::vector<std::pair<int, int>> aliases_of(const FusionKernel& fusion);
/// Where an output shares an input's memory, the finished kernel reads each element before it is written:
/// throws Error (internal) where it does not.
void check_in_place(const FusionKernel& fusion);

}  // namespace smelt
