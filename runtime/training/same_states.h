// Whether the ranks that train one model hold the same of it.
#pragma once

#include <cstdint>

#include "runtime/session.h"
#include "runtime/training/training_ranks.h"

namespace smelt {

/// Compares what checkpoints hold, but for states of which each rank has a part. All ranks call it at once;
/// where two differ, all throw Error naming them and the step.
void require_same_states(const Session& session, const TrainingRanks& ranks, int64_t step);

}  // namespace smelt
