// A sum of select(p, x, 0) is the sum of x where p holds: the zeros need not be added.
#pragma once

#include "ir/kernel.h"

namespace smelt {

/// Rewrites such `reduce add` whose select stands in the same block.
void sum_where_chosen(Kernel& kernel);

}  // namespace smelt
