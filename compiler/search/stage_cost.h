// Cost of pipeline parallelism (docs/guides/distributed.md): the predicted time of an update, and the memory
// for micro-batches in flight. The time is that of a simulated schedule, in which each part of the model
// takes its predicted time.
#pragma once

#include <cstdint>
#include <span>

#include "compiler/search/plan_candidates.h"
#include "compiler/search/plan_time.h"

namespace smelt {

/// Predicted time of an update with pipeline stages.
struct StageTime {
  /// time.seconds is the time of a whole update, with all stages. The other members of `time` describe only
  /// the stage with the longest computation.
  EntryTime time;
  double bubble = 0;  // average share of time.seconds in which stages are idle in the schedule, 0 to 1
};

/// Predicts the time of an update. `programs`: one per stage of the candidate, in order.
StageTime stage_time(std::span<const Program> programs, const PlanCandidate& candidate,
                     const MachineRates& rates);

/// Returns the bytes that a stage stores for micro-batches in addition to its arena. A stage consists of one
/// or several parts of the model. For each part, two numbers are added: the bytes of the activations that
/// forward stores for backward, times the largest number of micro-batches in flight; and the bytes of the
/// gradients of activations that one micro-batch sends and receives at the boundaries of the part.
int64_t kept_bytes(const Program& stage, const PlanCandidate& candidate);

}  // namespace smelt
