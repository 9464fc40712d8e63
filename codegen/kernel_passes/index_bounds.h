// Upper bounds of the numbers that a kernel's indices are computed from.
#pragma once

#include "ir/kernel/kernel.h"
#include "runtime/base/dim.h"

namespace smelt {

/// The largest value at the symbols' bounds, or 2^40 where there is none.
int64_t bound_or_large(const Dim& dim, const Symbols& symbols);

/// Returns whether the dim is never 0, at any sizes that the symbols' bounds allow; false where this cannot
/// be shown.
bool is_at_least_one(const Dim& dim, const Symbols& symbols);

/// All numbers that indices are made of stay below 2^30, computed ones by their table's elements.
bool has_32_bit_indices(const Kernel& kernel, const Symbols& symbols);
/// The same for the addresses that are read and written, without the product of all axes' indices.
bool has_32_bit_accesses(const Kernel& kernel, const Symbols& symbols);

}  // namespace smelt
