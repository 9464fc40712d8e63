// The choice of recomputed values, and of states that move to the host's memory, for a memory budget.
#pragma once

#include "compiler/driver/compile.h"

namespace smelt {

// ---- memory_curve.cpp
// Memory against time: the cost of a training step with different recomputation policies. Memory is exact,
// because every policy is compiled up to the memory plan. Time is predicted (step_cost.h).

/// Returns the Pareto-optimal policies, the fastest first, and the policy of `options` if it has one. A
/// policy has a price: the seconds of recomputation that it spends to save a GiB.
///
/// The candidates are the default policy, and policies with several prices, whose segments are the blocks of
/// the residual stream or groups of 1 to 4 layers. If the options have a memory budget, there are also
/// policies between the two that enclose it, which use the price of the larger saving in some segments only.
///
/// `prepared`: the graphs before the pass rematerialize. Throws Error if no graph has a backward phase, or if
/// `options` replace the pass pipeline.
std::vector<MemoryPoint> memory_curve(const Module& prepared, const Target& target,
                                      const CompileOptions& options);

/// Returns the first policy of the curve within `budget` bytes. Throws Error with the least possible memory
/// and its policy if none fits. Requires: the curve is not empty.
RecomputePolicy fastest_within(const std::vector<MemoryPoint>& curve, int64_t budget);

// ---- offload_choice.cpp
// Chooses the number of bytes of the optimizer's states that move to the host's memory under a memory budget.
// States move if the budget cannot be met otherwise, or if their copies take less time than recomputation.

struct OffloadChoice {
  RecomputePolicy recompute;
  OffloadStatesOptions offload;  // `bytes` is the excess over the budget; 0: nothing moves
};

/// Returns the fastest point of the curve whose excess over the budget can move to the host, where the time
/// of the copies of an update counts. Compiles the chosen plan up to its memory to make sure that it fits.
/// Returns nothing if no point fits. `prepared`: as for memory_curve. Requires: the target is a GPU.
std::optional<OffloadChoice> offload_within(const Module& prepared, const Target& target,
                                            const CompileOptions& options,
                                            const std::vector<MemoryPoint>& curve, int64_t budget);

}  // namespace smelt
