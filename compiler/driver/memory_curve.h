// Memory against time: the cost of a training step under policies of recomputation. Memory is exact, because
// a plan is made up to its memory for every policy; time is predicted (step_cost.h).
#pragma once

#include "compiler/driver/compile.h"

namespace smelt {

/// Returns the Pareto-optimal policies, the fastest first: none is both slower and larger than another. The
/// candidates are the default policy, policies for some prices of a GiB between all blocks of the residual
/// stream, and the same between groups of several layers. A budget in the options adds policies between the
/// two that enclose it, which recompute more in some segments than in the others; the options' own policy is
/// always there. `prepared` are the graphs as rematerialize takes them. Throws Error where no graph trains,
/// or where the options have a pass pipeline of their own.
std::vector<MemoryPoint> memory_curve(const Module& prepared, const Target& target,
                                      const CompileOptions& options);

/// Throws Error with the least possible memory and its policy where none fits.
RecomputePolicy fastest_within(const std::vector<MemoryPoint>& curve, int64_t budget);

}  // namespace smelt
