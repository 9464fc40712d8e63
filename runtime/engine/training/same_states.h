// Comparison of the states of ranks that train one model.
#pragma once

#include <cstdint>

#include "runtime/engine/training/training_ranks.h"
#include "runtime/session/session.h"

namespace smelt {

/// Compares the states that checkpoints hold, except sharded ones, over the ranks of each pipeline stage. All
/// ranks call it together. If the states of two ranks differ, all ranks throw Error naming the two and the
/// step.
void require_same_states(const Session& session, const TrainingRanks& ranks, int64_t step);

}  // namespace smelt
