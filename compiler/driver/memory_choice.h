// The choice of recomputed values, and of states that move to the host's memory, for a memory budget.
#pragma once

#include "compiler/driver/compile.h"

namespace smelt {

// ---- memory_curve.cpp
// Memory against time: the cost of a training step with different recomputation policies. Memory is exact,
// because every policy is compiled up to the memory plan. Time is predicted (step_cost.h).

/// Returns the Pareto-optimal policies, the fastest first. The policy of `options`, if it is not the default,
/// is among them even if it is not Pareto-optimal. A policy has a price: the most seconds of recomputation
/// that it spends to save a GiB. A policy divides the model into segments, which begin and end at values of
/// the residual stream (passes/graph/autodiff/recompute_policy.h).
///
/// The candidates are the default policy, and policies that combine one of several prices with a length of
/// segments: one attention or feed-forward block, or 1 to 4 layers. If the options have a memory budget, more
/// policies are tried. They are mixtures of two policies of the curve, the last one that exceeds the budget
/// and the first one that fits: some segments have the price of one, and all other segments the price of the
/// other.
///
/// `prepared`: the graphs before the pass rematerialize. Throws Error if no graph has a backward phase, or if
/// `options` replace the pass pipeline.
std::vector<MemoryPoint> memory_curve(const Module& prepared, const Target& target,
                                      const CompileOptions& options);

/// Returns the fastest policy whose memory is at most `budget` bytes: the first such policy of the curve.
/// Throws Error with the least possible memory and its policy if none fits. Requires: the curve is not empty.
RecomputePolicy fastest_within(const std::vector<MemoryPoint>& curve, int64_t budget);

// ---- offload_choice.cpp
// Chooses the number of bytes of the optimizer's states that move to the host's memory under a memory budget.
// States move if the budget cannot be met otherwise, or if their copies take less time than recomputation.

/// The recomputation policy and the moved states that were chosen together.
struct OffloadChoice {
  RecomputePolicy recompute;
  OffloadStatesOptions offload;  // `bytes`: bytes of states to move; 0: nothing moves
};

/// Returns the fastest point of the curve that fits if states move to the host. A point's excess, its bytes
/// minus `budget`, must be at most the bytes of the states that can move. The time of a point includes the
/// copies of moved states in an update. Compiles the chosen plan up to the memory plan to make sure that it
/// fits, and moves more bytes if it does not. Returns an empty result if no point fits. `prepared`: as for
/// memory_curve. Requires: the target is a GPU.
std::optional<OffloadChoice> offload_within(const Module& prepared, const Target& target,
                                            const CompileOptions& options,
                                            const std::vector<MemoryPoint>& curve, int64_t budget);

}  // namespace smelt
