// Chooses the bytes of the optimizer's states that move to the host under a memory budget. States move where
// the budget cannot be met otherwise, or where the copies take less time than a recomputation for backward.
#pragma once

#include "compiler/driver/compile.h"

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
