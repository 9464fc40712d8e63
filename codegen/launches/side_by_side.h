// Horizontal fusion: independent steps become one launch, whose blocks are divided among their kernels
// (Kernel::beside), because a launch takes longer than the work of a kernel where tokens are generated a few
// at a time. A step moves down to the last step of its launch, and only past steps that it shares no memory
// with.
#pragma once

#include "ir/program/program.h"

namespace smelt {

/// Runs on programs for a GPU, between merge_launches and plan_memory, on entries that keep tokens.
bool run_side_by_side(Program& program);

}  // namespace smelt
