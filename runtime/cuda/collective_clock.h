// Measurement of collectives between the GPUs of several ranks. The collectives run in a CUDA graph, as in a
// run of a plan.
#pragma once

#include <memory>

#include "runtime/cuda/device.h"
#include "runtime/ranks/measure_collectives.h"
#include "runtime/ranks/rank_groups.h"

namespace smelt::cuda {

/// Returns a function that measures collectives between the ranks along mesh axis number `axis`. Given a kind
/// and a number of bytes (runtime/ranks/measure_collectives.h), it runs one collective of this kind in memory
/// that it allocates, and returns its time in seconds. All ranks must call collective_clock together.
/// Requires: `device` and `ranks` outlive the result. Throws Error if there is no NCCL.
CollectiveClock collective_clock(const Device& device, RankGroups& ranks, size_t axis);

}  // namespace smelt::cuda
