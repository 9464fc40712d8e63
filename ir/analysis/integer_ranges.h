// Interval arithmetic on integers.
#pragma once

#include "ir/analysis/index_ranges.h"

namespace smelt {

inline constexpr int64_t kLeastInteger = INT32_MIN, kMostInteger = INT32_MAX;

/// Bound that may not fit 64 bits.
__extension__ typedef __int128 Bound;

/// Returns the range of all numbers of a type.
IndexRange all_of_type(DType type);
/// Returns the range from `least` to `most`; nothing if arithmetic of the type would wrap around.
std::optional<IndexRange> in_bits_of(DType type, Bound least, Bound most);
/// Returns the range extended to include `beside`.
IndexRange hull(const IndexRange& x);
/// Returns whether a size is certainly at least 1 if its symbols are.
bool is_never_zero(const Dim& dim);
/// The same for these symbols, some of which may be 0.
bool is_never_zero(const Dim& dim, const Symbols& symbols);
/// Returns the union's range: an element is in a or in b.
IndexRange either(const IndexRange& a, const IndexRange& b);
/// Returns the range of an unknown subset of the elements, which need not contain the least and the largest.
IndexRange of_some(IndexRange range);

/// Returns the range of op's results of a type; nothing if they may wrap around or no rule is known.
/// Requires: the operands have no `beside`.
std::optional<IndexRange> integer_result(ScalarOp op, DType type, const IndexRange& x, const IndexRange& y);

/// Returns the part of x for which `x op y` holds with some number of y; nothing if it never holds.
std::optional<IndexRange> part(const IndexRange& x, ScalarOp op, const IndexRange& y);

}  // namespace smelt
