// overlap_collectives: collectives begin as early as what they read is there, and are waited for as late as
// what they write is needed (CollectiveStep::waited_at), so that a GPU sends while it computes.
//
// Steps of a choice stay together. What puts parts of all ranks together takes more memory than the parts: it
// begins where what was put together before it, for an earlier step, is first read, so that what one step
// needs is under way while what another needs is used. Contract: runs last before plan_memory, since later
// passes would have to keep the numbers of steps.
#pragma once

#include "ir/program.h"

namespace smelt {

struct OverlapCollectivesOptions {};

bool overlap_collectives(Program& program, const OverlapCollectivesOptions& options);

}  // namespace smelt
