// Comparison of the states of ranks that train one model.
#pragma once

#include <cstdint>

#include "runtime/engine/training/training_ranks.h"
#include "runtime/session/session.h"

namespace smelt {

/// Compares the states that checkpoints hold, except sharded ones. All ranks call it together. If two differ,
/// all throw Error naming them and the step.
void require_same_states(const Session& session, const TrainingRanks& ranks, int64_t step);

}  // namespace smelt
