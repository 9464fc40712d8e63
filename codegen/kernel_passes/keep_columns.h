// Column values that one block computes and a later one computes again become values kept from the first: on
// a GPU a row stays in the registers of its threads. What is kept is as late in the computation as possible,
// so that one register stands for several loads; what only depends on indices and row scalars is not worth
// one.
#pragma once

#include "ir/kernel.h"

namespace smelt {

/// The kernel with schedule.cached filled and without what nobody needs any more; the same kernel where its
/// blocks share nothing. Needs a single column axis and no reduced ones.
Kernel with_kept_columns(const Kernel& kernel);

}  // namespace smelt
