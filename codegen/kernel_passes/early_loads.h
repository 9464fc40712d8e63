// Issues loads of later blocks early. The blocks of a row that stays in registers are separated by
// reductions. Loads that only a later block reads do not depend on these reductions, so they are issued
// before the loads of the first block.
#pragma once

#include "ir/kernel/kernel.h"

namespace smelt {

/// Gives loads of later blocks the form `early`, in order, while registers are available, in kernels where
/// all loads of a row are in flight concurrently. Skips prefetched loads and, where a block has several rows,
/// loads that all rows read, because these hit the cache.
void issue_loads_early(Kernel& kernel);

}  // namespace smelt
