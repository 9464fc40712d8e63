// Writes the consequences of a GPU schedule into the kernel: after these passes the CUDA printers make no
// decisions.
#pragma once

#include "ir/kernel/kernel.h"

namespace smelt {

/// Runs the GPU passes of kernel_passes.def on a kernel that has a schedule and on its tail. First removes
/// the results of an earlier schedule: forms, exchange rounds, barriers and orders of loads. Keeps results
/// that do not depend on the schedule: the predicates of conditional_sums, the operands of unrounded_stores,
/// and the instructions that keep_columns removed from blocks that read Schedule::cached.
void legalize_for_gpu(Kernel& kernel);

}  // namespace smelt
