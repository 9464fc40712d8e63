// Ranges of values, which decide whether a factor c that is constant along a row may be moved out of a sum
// over the row. For every x, sum (x c) = c sum x holds unless c is infinite, and sum (x / c) = (sum x) / c
// holds unless c is 0. In these cases elements of both signs give NaN on the left and an infinity on the
// right.
#pragma once

#include "ir/graph/graph.h"

namespace smelt {

/// Returns true if it is proven that no element is infinite, whatever the inputs are; elements may be NaN.
bool is_never_infinite(const Value* value);
/// Returns true if it is proven that every element is at least 2^-100 or NaN, whatever the inputs are. Also
/// returns true for the sum of exponentials that max_sumexp computes. This sum is 0 for a row of -infinity,
/// but the exponentials that are divided by it are then NaN.
bool is_never_small(const Value* value);

}  // namespace smelt
