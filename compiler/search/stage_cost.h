// Cost of pipeline parallelism (docs/guides/distributed.md): the predicted time of an update, from a
// simulation of the schedule with the predicted times of each part of the model, and the memory for
// micro-batches.
#pragma once

#include <cstdint>
#include <span>

#include "compiler/search/plan_candidates.h"
#include "compiler/search/plan_time.h"

namespace smelt {

struct StageTime {
  /// `seconds` is the time of an update. The other members are those of the stage that computes longest.
  EntryTime time;
  double bubble = 0;  // average share of `seconds` in which stages are idle in the schedule, 0 to 1
};

/// Predicts the time of an update. `programs`: one per stage of the candidate, in order.
StageTime stage_time(std::span<const Program> programs, const PlanCandidate& candidate,
                     const MachineRates& rates);

/// Returns the bytes that a stage stores for micro-batches in addition to its arena. For each of its parts,
/// these are the values that forward stores for backward, times the largest number of micro-batches in
/// flight, and one set of the gradients that cross the boundaries of the part.
int64_t kept_bytes(const Program& stage, const PlanCandidate& candidate);

}  // namespace smelt
