// The choice of what is recomputed and what moves to the host, for a memory budget.
#pragma once

#include "compiler/driver/compile.h"

namespace smelt {

// ---- memory_curve.cpp
// Memory against time: the cost of a training step under policies of recomputation. Memory is exact, because
// a plan is made up to its memory for every policy; time is predicted (step_cost.h).

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

// ---- offload_choice.cpp
// Chooses the bytes of the optimizer's states that move to the host under a memory budget. States move where
// the budget cannot be met otherwise, or where the copies take less time than a recomputation for backward.

struct OffloadChoice {
  RecomputePolicy recompute;
  OffloadStatesOptions offload;  // bytes: what exceeds the budget; 0: nothing does
};

/// The point of the curve that is the fastest within the budget, with the time of an update's copies added
/// where states exceed it; nothing where none fits with all moved that can be. `prepared` as memory_curve
/// takes it, for a GPU. The plan that it leads to is made up to its memory, and fits.
std::optional<OffloadChoice> offload_within(const Module& prepared, const Target& target,
                                            const CompileOptions& options,
                                            const std::vector<MemoryPoint>& curve, int64_t budget);

}  // namespace smelt
