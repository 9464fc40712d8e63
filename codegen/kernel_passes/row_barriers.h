// Barriers of rows that are overwritten in place. A value that every thread of a row reads may be overwritten
// by one of them; the barrier makes all reads come before any write.
#pragma once

#include "ir/kernel/kernel.h"

namespace smelt {

/// Sets `after_barrier` of those column blocks of row kernels that store columns of a type which row code, or
/// code that is the same for all columns, has read before. A reduction in between is a barrier already.
void insert_row_barriers(Kernel& kernel);

}  // namespace smelt
