// Interval arithmetic on integers. An IndexRange (index_ranges.h) bounds the elements of a value: every
// element is in [least, most] or equals the optional number `beside`. If its member `attained` is true, some
// element is `least` and some element is `most`.
#pragma once

#include "ir/analysis/index_ranges.h"

namespace smelt {

inline constexpr int64_t kLeastInteger = INT32_MIN, kMostInteger = INT32_MAX;

/// Exact bound of a result, which may need more than 64 bits.
__extension__ typedef __int128 Bound;

/// Returns the range of all numbers of a type.
IndexRange all_of_type(DType type);
/// Returns the range [least, most]; nothing if `least` or `most` is outside the range of the type, because
/// arithmetic may then wrap around.
std::optional<IndexRange> in_bits_of(DType type, Bound least, Bound most);
/// Returns the smallest range without an optional number that contains all elements of x.
IndexRange hull(const IndexRange& x);
/// Returns whether a size is certainly at least 1, provided that all its symbols are at least 1.
bool is_never_zero(const Dim& dim);
/// Returns whether a size is certainly at least 1, given the lower bounds of `symbols`, some of which may be
/// 0.
bool is_never_zero(const Dim& dim, const Symbols& symbols);
/// Returns a range that contains both `a` and `b`.
IndexRange either(const IndexRange& a, const IndexRange& b);
/// Returns the range of an unknown subset of a value's elements: `range` itself, with `attained` false.
IndexRange of_some(IndexRange range);

/// Returns the range of op(x, y) in arithmetic of `type`; nothing if a result may wrap around, or if there is
/// no rule for op. `y` is ignored if op has one operand. Requires: x and y have no `beside`.
std::optional<IndexRange> integer_result(ScalarOp op, DType type, const IndexRange& x, const IndexRange& y);

/// Returns the range of the elements of x for which the comparison `x op y` can hold for some element of y;
/// nothing if it never holds.
std::optional<IndexRange> part(const IndexRange& x, ScalarOp op, const IndexRange& y);

}  // namespace smelt
