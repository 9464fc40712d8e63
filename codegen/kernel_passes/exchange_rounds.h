// Rounds of exchange: the threads of a block exchange sums through shared memory, which may be too small for
// all sums at once.
#pragma once

#include "ir/kernel/kernel.h"

namespace smelt {

/// Gives reductions over reduced axes, and accumulations along the columns of rows in registers, the rounds
/// in which they are exchanged: as many together as shared memory holds. If shared memory does not hold a
/// vector's columns of a reduction, a round has fewer columns; if it does not hold one row per team of an
/// accumulation, the accumulation gets the form `sequential`.
void exchange_in_rounds(Kernel& kernel);

/// Returns the number of thread groups that exchange their parts of a reduced block: teams, or warps where
/// several teams share a warp and are joined by shuffles. The schedule determines the number.
int exchanging_groups(const Schedule& schedule);

}  // namespace smelt
