// Which of several ways to do the same work takes the least time on a device.
#pragma once

#include <functional>

#include "runtime/cuda/device.h"
#include "runtime/cuda/memory.h"

namespace smelt::cuda {

/// Returns the fastest variant. `graph_of(way, times)` is a graph of `times` consecutive runs of a variant
/// that has run before. Variants are measured in turns, so that changes of the clock affect all equally; the
/// least time of each counts.
size_t fastest(const Device& device, Stream stream, size_t ways,
               const std::function<GraphOwner(size_t way, int times)>& graph_of);

}  // namespace smelt::cuda
