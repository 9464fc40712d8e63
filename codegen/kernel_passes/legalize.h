// What follows from a kernel's schedule on a GPU, spelled out in the kernel: after these passes the printers
// of CUDA have nothing left to decide.
#pragma once

#include "ir/kernel.h"

namespace smelt {

/// Runs the passes of kernel_passes.def that are for a GPU, on a kernel that has a schedule and on its tail.
/// Decides anew: forms, exchange rounds, barriers and orders of loads that an earlier schedule had entailed
/// go first. What holds under every schedule stays: the predicates of conditional_sums, the operands of
/// unrounded_stores, and what keep_columns left out of blocks that read Schedule::cached.
void legalize_for_gpu(Kernel& kernel);

}  // namespace smelt
