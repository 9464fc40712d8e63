// Between the blocks of a row that stays in registers stand reductions; what only a later block reads does
// not depend on them, so its loads are issued before the first block's.
#pragma once

#include "ir/kernel.h"

namespace smelt {

/// Where all loads of a row are in flight at a time, gives loads of later blocks the form `early`, in order,
/// while there are registers for them; not those that are prefetched, nor, where a block has several rows,
/// those that all rows read, which are found in the cache.
void issue_loads_early(Kernel& kernel);

}  // namespace smelt
