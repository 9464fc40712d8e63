// Interval arithmetic on integers of 32 and of 64 bits.
#pragma once

#include "ir/analysis/index_ranges.h"

namespace smelt {

inline constexpr int64_t kLeastInteger = INT32_MIN, kMostInteger = INT32_MAX;

/// Bounds before it is known whether they fit 64 bits.
__extension__ typedef __int128 Bound;

/// The range from `least` to `most`; nothing where kernels, which compute in 64 bits for i64 and in 32 for
/// the others, would wrap around.
std::optional<IndexRange> in_bits_of(DType type, Bound least, Bound most);
/// With `beside` as a number of the range.
IndexRange hull(const IndexRange& x);
/// Whether a size is at least 1 for certain, of symbols that are.
bool is_never_zero(const Dim& dim);
/// The same of these symbols, some of which may be 0.
bool is_never_zero(const Dim& dim, const Symbols& symbols);
/// Of what is one or the other.
IndexRange either(const IndexRange& a, const IndexRange& b);
/// Of some of the elements in a range, which need not be the least and the most.
IndexRange of_some(IndexRange range);

/// The range of op's results of a type; nothing where they may wrap around, or where no rule is known. The
/// operands have no number beside.
std::optional<IndexRange> integer_result(ScalarOp op, DType type, const IndexRange& x, const IndexRange& y);

/// The part of x for which `x op y` holds with some number of y; nothing where it never does.
std::optional<IndexRange> part(const IndexRange& x, ScalarOp op, const IndexRange& y);

}  // namespace smelt
