// What an update takes whose layers lie on several stages (docs/pipeline.md): the schedule, simulated with
// the predicted times of each part.
#pragma once

#include <cstdint>
#include <span>

#include "compiler/search/plan_candidates.h"
#include "compiler/search/plan_time.h"

namespace smelt {

struct StageTime {
  EntryTime time;  // of an update; exposed: the collectives, messages and sums of the stage that works most
  double bubble = 0;  // the part of that time in which stages stand idle, on average
};

/// `programs`: of the candidate's stages, in order.
StageTime stage_time(std::span<const Program> programs, const PlanCandidate& candidate,
                     const MachineRates& rates);

/// What a stage keeps of micro-batches beside its arena: for each of its parts what forward leaves for
/// backward, as often as the schedule has it in flight, and what crosses its boundaries once.
int64_t kept_bytes(const Program& stage, const PlanCandidate& candidate);

}  // namespace smelt
