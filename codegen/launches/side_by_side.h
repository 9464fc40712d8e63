// Steps that need nothing of one another become one launch, whose blocks are shared out among their kernels
// (Kernel::beside): where tokens are made a few at a time, starting a kernel takes longer than its work. A
// step moves down to the last of its launch, and only past steps that it shares no memory with.
#pragma once

#include "ir/program.h"

namespace smelt {

/// For programs that a GPU will run, between merge_launches and plan_memory: of the entries that keep tokens.
bool run_side_by_side(Program& program);

}  // namespace smelt
