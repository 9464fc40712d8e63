// Which of several ways to do the same work takes the least time on a device.
#pragma once

#include <functional>

#include "runtime/cuda/device.h"
#include "runtime/cuda/memory.h"

namespace smelt::cuda {

/// `graph_of(way, times)` is a graph of so many runs in a row of a way that has run before. All ways take
/// turns, so that a clock that rises or falls is the same for each; of each the least time counts.
size_t fastest(const Device& device, Stream stream, size_t ways,
               const std::function<GraphOwner(size_t way, int times)>& graph_of);

}  // namespace smelt::cuda
