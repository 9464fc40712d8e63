// Sums and maxima of the values of several ranks, in the order of the ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/dtype.h"
#include "runtime/ranks/communicator.h"

namespace smelt {

/// Throws Error naming the type if it is not one that sum_of_ranks supports: f32, bf16, f16, f64, i32 or i64.
void check_summable(DType dtype);

/// Sets element i of `to` to the sum, or the maximum, of the elements i of all arrays in `from`, for each of
/// `count` elements. The arrays are added in their order. f32 and f64 are added in double and 16-bit types in
/// float; a sum is rounded to `dtype` once, at the end. Integers wrap around. If one of the elements is NaN,
/// the result is NaN. `to` may be one of `from`. Requires: `from` is not empty.
void sum_of_ranks(std::span<const std::byte* const> from, std::byte* to, int64_t count, DType dtype,
                  CollectiveSum sum);

}  // namespace smelt
