// The memory bandwidth that this machine reaches: the reference for kernels that only move data.
#pragma once

#include "runtime/session/executor.h"

namespace smelt::cli {

/// Returns the bytes read and written per second by a plain copy of arrays far larger than the caches, on
/// `threads` threads (0: all). Returns the best of several measurements.
double copy_bytes_per_second(int threads = 0);
/// The same for the executor's memory: the device's, or else this machine's.
double copy_bytes_per_second(Executor& executor, int threads);

}  // namespace smelt::cli
