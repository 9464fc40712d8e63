// Ranges of values, which decide whether a factor c that is constant along a row may be moved out of a sum
// over the row. For every x, sum (x c) = c sum x holds unless c is infinite, and sum (x / c) = (sum x) / c
// holds unless c is 0. If c is such an exception, elements of both signs give NaN on the left and an infinity
// on the right.
#pragma once

#include "ir/graph/graph.h"

namespace smelt {

/// Returns true if it is proven that no element is infinite, whatever the inputs are; elements may be NaN.
bool is_never_infinite(const Value* value);
/// Returns true if it is proven that every element is NaN or at least 2^-100, whatever the inputs are. The
/// inverse of such a number is finite in f32. Also returns true for the sum of exponentials that max_sumexp
/// computes. This sum is 0 for a row of -infinity, but the exponentials of that row are NaN, and so are their
/// quotients.
bool is_never_small(const Value* value);

}  // namespace smelt
