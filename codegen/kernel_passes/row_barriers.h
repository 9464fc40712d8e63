// What every thread of a row reads may be what one of them is about to overwrite in place: all have read
// before any writes.
#pragma once

#include "ir/kernel.h"

namespace smelt {

/// Sets `after_barrier` of column blocks of row kernels that store columns of a type of which row code, or
/// code that is the same for all columns, has read before; a reduction in between makes threads wait anyway.
void insert_row_barriers(Kernel& kernel);

}  // namespace smelt
