// Check that the ranks which train one model have equal states.
#pragma once

#include <cstdint>

#include "runtime/engine/training/training_ranks.h"
#include "runtime/session/session.h"

namespace smelt {

/// Compares, by a checksum, the states that a checkpoint stores. Each rank is compared with the ranks of the
/// same pipeline stage. Sharded data, and partial sums of ranks, differ by design and are not compared. All
/// ranks call this function together. If two ranks differ, all ranks throw Error, which names the two ranks
/// and the training step `step`.
void require_same_states(const Session& session, const TrainingRanks& ranks, int64_t step);

}  // namespace smelt
