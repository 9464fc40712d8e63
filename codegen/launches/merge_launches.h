// Merges independent steps that run the same small kernel to one launch with several sets of arguments
// (Kernel::copies), at the position of the last of these steps. Examples are sums of partial sums, and
// additions of vectors to accumulated values, which run once per layer and whose results are first read by
// the update. A step moves down only past steps that it shares no memory with, and only where the moves
// extend the lifetime of little memory.
#pragma once

#include "ir/program/program.h"

namespace smelt {

/// Runs on programs for a GPU, between order_steps and plan_memory.
bool merge_launches(Program& program);

}  // namespace smelt
