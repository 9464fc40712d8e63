// Steps that run the same small kernel, and none of which needs another's results, become one launch with
// several sets of arguments (Kernel::copies), at the place of the last of them: sums of partial sums, and
// additions of vectors to what is accumulated, which run once a layer and whose results nobody reads before
// the update. A step moves down only past steps that it shares no memory with, and only where little memory
// waits for it.
#pragma once

#include "ir/program.h"

namespace smelt {

/// For programs that a GPU will run, between order_steps and plan_memory.
bool merge_launches(Program& program);

}  // namespace smelt
