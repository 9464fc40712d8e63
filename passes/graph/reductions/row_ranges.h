// Ranges of row values that decide whether a factor may leave a sum: sum (x c) = c sum x holds for every x if
// c is not infinite, and sum (x / c) = (sum x) / c if c is not 0. Otherwise elements of both signs give NaN
// on the left and an infinity on the right.
#pragma once

#include "ir/graph/graph.h"

namespace smelt {

/// Returns whether no element is infinite for any data; elements may be NaN.
bool is_never_infinite(const Value* value);
/// Returns whether every element is at least 2^-100 for any data; elements may be NaN.
bool is_never_small(const Value* value);

}  // namespace smelt
