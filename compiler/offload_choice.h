// How much of the optimizer's states a budget of memory moves to the host, where it cannot be met otherwise
// or that takes less time than to compute again what backward needs.
#pragma once

#include "compiler/compile.h"

namespace smelt {

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
