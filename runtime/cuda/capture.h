// Capture of work on a stream as a CUDA graph, which is then launched as a whole.
#pragma once

#include <functional>

#include "runtime/cuda/memory.h"

namespace smelt::cuda {

/// Returns an executable graph of the work that `launches` enqueues on the stream. None of the work runs
/// during the capture.
GraphOwner captured(Stream stream, const std::function<void()>& launches);

}  // namespace smelt::cuda
