// Bounds of a kernel's indices, the sizes that its launches need, and the order of its instructions.
#pragma once

#include <vector>

#include "ir/kernel/kernel.h"
#include "runtime/base/dim.h"

namespace smelt {

// ---- index_bounds.cpp
// Upper bounds of sizes and of a kernel's indices.

/// Returns the upper bound of the dim that follows from the bounds of its symbols, or 0 if that is negative.
/// Returns 2^40 if there is no upper bound.
int64_t bound_or_large(const Dim& dim, const Symbols& symbols);

/// Returns whether the dim is known to be at least 1 at all sizes that the symbols' bounds allow.
bool is_at_least_one(const Dim& dim, const Symbols& symbols);

/// Returns whether all indices that the kernel's code computes are known to be below 2^30. The function
/// checks the index of every accessed element, the number of iterations of all loops together, the size of
/// the kernel's range (Kernel::range), and the number of elements of a slice of partial sums. The index of a
/// gather is bounded by the number of elements of its table (KernelParam::table_elements).
bool has_32_bit_indices(const Kernel& kernel, const Symbols& symbols);
/// Returns whether the indices of the accessed elements alone are known to be below 2^30.
bool has_32_bit_accesses(const Kernel& kernel, const Symbols& symbols);

// ---- launch_dims.cpp
// The sizes that a kernel's code needs at every launch.

/// Returns the Dims that the kernel's code uses and that are not constant, each once, in order of first use.
/// A plan stores them as KernelCode::dims.
std::vector<Dim> launch_dims(const Kernel& kernel);

// ---- instruction_order.cpp
// Clean-up after passes that make instructions unused.

/// Removes the instructions on which no store and no accumulation depends, then empty blocks. The other
/// instructions are renumbered and keep their order.
void drop_unused_instructions(Kernel& kernel);

/// Renumbers the instructions in the order in which the blocks contain them.
void number_by_blocks(Kernel& kernel);

}  // namespace smelt
