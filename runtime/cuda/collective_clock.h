// Measures collectives of the GPUs of several ranks, as a step's graph runs them.
#pragma once

#include <memory>

#include "runtime/cuda/device.h"
#include "runtime/ranks/measure_collectives.h"
#include "runtime/ranks/rank_groups.h"

namespace smelt::cuda {

/// Creates a clock for the ranks along one axis of the mesh of `ranks`, with memory of its own. All ranks
/// call it together. Requires: `ranks` outlives the clock. Throws Error if there is no NCCL.
CollectiveClock collective_clock(const Device& device, RankGroups& ranks, size_t axis);

}  // namespace smelt::cuda
