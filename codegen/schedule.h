// Chooses how the CPU runs a kernel, as plain data: chunk sizes, tiles, what is kept between blocks.
#pragma once

#include "ir/kernel.h"
#include "runtime/dim.h"

namespace smelt {

/// Chunks of a kernel that accumulates partial sums: a fixed number, so that sums never depend on the
/// threads.
constexpr int64_t kSplits = 32;

/// Fills kernel.schedule from its axes and instructions; bounds come from `symbols`.
void schedule(Kernel& kernel, const Symbols& symbols);

}  // namespace smelt
