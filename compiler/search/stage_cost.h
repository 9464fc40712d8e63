// The time of an update whose layers are on several stages (docs/pipeline.md): a simulation of the schedule
// with the predicted times of each part.
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

/// Returns the bytes that a stage keeps for micro-batches in addition to its arena: for each of its parts the
/// values that forward keeps for backward, times the number in flight in the schedule, and the values that
/// cross its boundaries once.
int64_t kept_bytes(const Program& stage, const PlanCandidate& candidate);

}  // namespace smelt
