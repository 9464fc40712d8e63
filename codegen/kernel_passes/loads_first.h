// The compiler of CUDA alone keeps few loads of later indices under way: so in a long sum the loads of
// several reduced indices stand before the work on the first.
#pragma once

#include "ir/kernel.h"

namespace smelt {

/// Sets `loads_first` of reduced blocks that are unrolled and read nothing but vectors in their innermost
/// loop.
void put_loads_first(Kernel& kernel);

}  // namespace smelt
