// Arithmetic on ranges of integers of 32 bits: what a result can be, of what its operands can be.
#pragma once

#include "ir/analysis/index_ranges.h"

namespace smelt {

inline constexpr int64_t kLeastInteger = INT32_MIN, kMostInteger = INT32_MAX;

/// Nothing where kernels, which count in 32 bits, would wrap around.
std::optional<IndexRange> in_32_bits(int64_t least, int64_t most, bool attained = false);
/// With `beside` as a number of the range.
IndexRange hull(const IndexRange& x);
/// Whether a size is at least 1 for certain.
bool is_never_zero(const Dim& dim);
/// Of what is one or the other.
IndexRange either(const IndexRange& a, const IndexRange& b);
/// Of some of the elements in a range, which need not be the least and the most.
IndexRange of_some(IndexRange range);

/// The range of op's results; nothing where they may wrap around, or where no rule is known. The operands
/// have no number beside.
std::optional<IndexRange> integer_result(ScalarOp op, const IndexRange& x, const IndexRange& y);

/// The part of x for which `x op y` holds with some number of y; nothing where it never does.
std::optional<IndexRange> part(const IndexRange& x, ScalarOp op, const IndexRange& y);

}  // namespace smelt
