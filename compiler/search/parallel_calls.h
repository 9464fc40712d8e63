// Independent calls on a few threads.
#pragma once

#include <cstddef>

#include "llvm/ADT/STLFunctionalExtras.h"

namespace smelt {

/// Calls `work` with 0 ... count - 1, each once, on `threads` threads (0: the processors of this process, at
/// most 8), and waits for all. Rethrows the exception of the call with the lowest number.
void call_in_parallel(size_t count, int threads, llvm::function_ref<void(size_t)> work);

}  // namespace smelt
