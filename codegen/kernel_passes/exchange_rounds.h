// Sums that the threads of a block exchange go through shared memory, which does not always hold all of
// them at a time.
#pragma once

#include "ir/kernel.h"

namespace smelt {

/// Gives reductions over reduced axes, and accumulations along the columns of rows in registers, the rounds
/// in which they are exchanged: as many together as shared memory holds. A reduction of which it does not
/// hold a vector's columns goes by fewer of them; an accumulation of which it does not hold one row for every
/// team gets the form `sequential`.
void exchange_in_rounds(Kernel& kernel);

/// How many groups of threads exchange what they have of a reduced block: teams, or warps where several teams
/// share one and are joined by shuffles. It follows from the schedule.
int exchanging_groups(const Schedule& schedule);

}  // namespace smelt
