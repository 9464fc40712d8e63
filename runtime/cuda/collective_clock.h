// Times what the GPUs of several ranks do together, as a step's graph runs it.
#pragma once

#include <memory>

#include "runtime/cuda/device.h"
#include "runtime/ranks/measure_collectives.h"
#include "runtime/ranks/rank_groups.h"

namespace smelt::cuda {

/// Of the ranks along one axis of the mesh of `ranks`, on memory of its own. All ranks make it at once.
/// `ranks` outlives it. Throws Error where there is no NCCL.
CollectiveClock collective_clock(const Device& device, RankGroups& ranks, size_t axis);

}  // namespace smelt::cuda
