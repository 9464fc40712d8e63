// Ranges of row values that decide whether a factor may leave a sum: sum (x c) = c sum x holds for every x
// where c is not infinite, and sum (x / c) = (sum x) / c where c is not 0. Otherwise elements of both signs
// give NaN on the left and an infinity on the right.
#pragma once

#include "ir/graph.h"

namespace smelt {

/// Whether no element is infinite whatever the data are; elements may be NaN.
bool is_never_infinite(const Value* value);
/// Whether every element is at least 2^-100 whatever the data are; elements may be NaN.
bool is_never_small(const Value* value);

}  // namespace smelt
