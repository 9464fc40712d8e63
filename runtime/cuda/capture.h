// Work on a stream as a graph, which is one launch.
#pragma once

#include <functional>

#include "runtime/cuda/memory.h"

namespace smelt::cuda {

/// Captures the work that `launches` enqueues on the stream; none of it runs now.
GraphOwner captured(Stream stream, const std::function<void()>& launches);

}  // namespace smelt::cuda
