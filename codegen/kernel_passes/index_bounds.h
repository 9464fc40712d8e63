// How large the numbers can become that a kernel's indices are made of.
#pragma once

#include "ir/kernel.h"
#include "runtime/dim.h"

namespace smelt {

/// The largest value at the symbols' bounds, or 2^40 where there is none.
int64_t bound_or_large(const Dim& dim, const Symbols& symbols);

/// Never 0, at any sizes that the symbols' bounds allow. False where that is not plain to see.
bool is_at_least_one(const Dim& dim, const Symbols& symbols);

/// All numbers that indices are made of stay below 2^30, computed ones by their table's elements.
bool has_32_bit_indices(const Kernel& kernel, const Symbols& symbols);
/// The same of the places that are read and written alone, however many the axes' indices are together.
bool has_32_bit_accesses(const Kernel& kernel, const Symbols& symbols);

}  // namespace smelt
