// A block that walks over rows waits for every one of them, since reductions stand between its loads and its
// stores; so it issues the loads of the next rows before it works on the row at hand.
#pragma once

#include "codegen/kernel_passes/kernel_shape.h"
#include "ir/kernel.h"

namespace smelt {

/// In a walk with a prefetch distance gives the form `prefetched` to the first loads, as many as
/// have space for their rows in shared memory.
void prefetch_rows(Kernel& kernel);

/// Whether a load can be issued before its block: a whole vector, in memory that nobody writes.
bool can_be_early(const Kernel& kernel, const KernelShape& shape, int id);
/// And whether each row has one of its own.
bool can_be_prefetched(const Kernel& kernel, const KernelShape& shape, int id);
/// Bytes of a vector of an access.
int64_t vector_bytes(const Kernel& kernel, int id);

}  // namespace smelt
