// Parallel execution of independent calls.
#pragma once

#include <cstddef>

#include "llvm/ADT/STLFunctionalExtras.h"

namespace smelt {

/// Calls work(i) once for each i from 0 to count - 1, on `threads` threads (0: one per processor, at most 8),
/// and waits for all calls. If calls throw, all others still run, and the exception of the call with the
/// lowest i is rethrown.
void call_in_parallel(size_t count, int threads, llvm::function_ref<void(size_t)> work);

}  // namespace smelt
