// A sum of select(p, x, 0) is the sum of x where p holds: the zeros need not be added.
#pragma once

#include "ir/kernel/kernel.h"

namespace smelt {

/// Rewrites each such `reduce add` whose select is in the same block.
void sum_where_chosen(Kernel& kernel);

}  // namespace smelt
