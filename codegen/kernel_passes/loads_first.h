// Moves loads first in long sums: the CUDA compiler by itself keeps few loads of later indices in flight, so
// the loads of several reduced indices are placed before the work on the first index.
#pragma once

#include "ir/kernel/kernel.h"

namespace smelt {

/// Sets `loads_first` of reduced blocks that are unrolled and read nothing but vectors in their innermost
/// loop.
void put_loads_first(Kernel& kernel);

}  // namespace smelt
