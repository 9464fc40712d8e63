// Memory against time: what a training step takes under one policy of recomputation or another. Memory is
// that of the plan itself, which is made up to its memory for every policy; time is predicted (step_cost.h).
#pragma once

#include "compiler/compile.h"

namespace smelt {

/// The policies of which none is both slower and larger than another, the fastest first: today's least, some
/// prices of a GiB between all blocks of the trunk, and the same between every so many layers. With a budget
/// in the options also those between the two policies that enclose it, which recompute more in some segments
/// than in the rest; the options' own policy is there, too. `prepared` are the graphs as rematerialize takes
/// them. Throws Error where no graph trains, or where the options have a pipeline of their own.
std::vector<MemoryPoint> memory_curve(const Module& prepared, const Target& target,
                                      const CompileOptions& options);

/// Throws Error with the least that is possible and what takes it where none fits.
RecomputePolicy fastest_within(const std::vector<MemoryPoint>& curve, int64_t budget);

}  // namespace smelt
