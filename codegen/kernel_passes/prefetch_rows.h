// Prefetches rows in a grid-stride loop. Without prefetching, a block would wait for every row, because
// reductions separate its loads and its stores. So it issues the loads of the next rows before it works on
// the current row.
#pragma once

#include "codegen/kernel_passes/kernel_shape.h"
#include "ir/kernel/kernel.h"

namespace smelt {

/// In a grid-stride loop with a prefetch distance, gives the form `prefetched` to as many of the first loads
/// as have space for their rows in shared memory.
void prefetch_rows(Kernel& kernel);

/// Returns whether a load can be issued before its block: it is a whole vector, and nothing writes its
/// memory.
bool can_be_early(const Kernel& kernel, const KernelShape& shape, int id);
/// Returns whether a load can be early, and each row has data of its own.
bool can_be_prefetched(const Kernel& kernel, const KernelShape& shape, int id);
/// Bytes of a vector of an access.
int64_t vector_bytes(const Kernel& kernel, int id);

}  // namespace smelt
