// Sizes and numbers of a kernel: bounds of indices, dims of launches, order of instructions.
#pragma once

#include <vector>

#include "ir/kernel/kernel.h"
#include "runtime/base/dim.h"

namespace smelt {

// ---- index_bounds.cpp
// Upper bounds of the numbers that a kernel's indices are computed from.

/// The largest value at the symbols' bounds, or 2^40 where there is none.
int64_t bound_or_large(const Dim& dim, const Symbols& symbols);

/// Returns whether the dim is never 0, at any sizes that the symbols' bounds allow; false where this cannot
/// be shown.
bool is_at_least_one(const Dim& dim, const Symbols& symbols);

/// All numbers that indices are made of stay below 2^30, computed ones by their table's elements.
bool has_32_bit_indices(const Kernel& kernel, const Symbols& symbols);
/// The same for the addresses that are read and written, without the product of all axes' indices.
bool has_32_bit_accesses(const Kernel& kernel, const Symbols& symbols);

// ---- launch_dims.cpp
// The sizes that a kernel's code needs at every launch.

/// The kernel's Dims that are not constant, in order of first use: what a plan holds as KernelCode::dims.
std::vector<Dim> launch_dims(const Kernel& kernel);

// ---- instruction_order.cpp
// Clean-up after passes that make instructions unused.

/// Removes the instructions that no store and no accumulation needs, and empty blocks; the others move up.
void drop_unused_instructions(Kernel& kernel);

/// Numbers instructions in the order of the blocks.
void number_by_blocks(Kernel& kernel);

}  // namespace smelt
