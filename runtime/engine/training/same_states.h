// Check that the ranks which train one model have equal states.
#pragma once

#include <cstdint>

#include "runtime/engine/training/training_ranks.h"
#include "runtime/session/session.h"

namespace smelt {

/// Compares, by a checksum, the states that checkpoints have (is_saved). Each rank is compared with the
/// ranks of the same pipeline stage. States and segments that differ between ranks by design are left out:
/// those that are sharded, and those of which each rank holds one addend of a sum. All ranks call it
/// together. If two ranks differ, all ranks throw Error, which names these two and `step`.
void require_same_states(const Session& session, const TrainingRanks& ranks, int64_t step);

}  // namespace smelt
