// Sums and maxima of the values of several ranks, in the order of the ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/dtype.h"
#include "runtime/ranks/communicator.h"

namespace smelt {

/// Throws Error naming the type if there is no sum of it: sums are of f32, bf16, f16, f64, i32 and i64.
void check_summable(DType dtype);

/// Element i of `to` becomes the sum, or the maximum, of element i of every one of `from`, added in their
/// order: f32 and f64 in double, 16-bit types in float, each rounded once at the end; integers wrap. A NaN
/// anywhere gives NaN. `to` may be one of `from`.
void sum_of_ranks(std::span<const std::byte* const> from, std::byte* to, int64_t count, DType dtype,
                  CollectiveSum sum);

}  // namespace smelt
