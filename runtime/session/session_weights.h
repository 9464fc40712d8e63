// Weights of a session in the layout of checkpoint files.
#pragma once

#include <vector>

#include "runtime/session/session.h"

namespace smelt {

/// Returns whether checkpoints hold this state: it has weights, and they are not derived from another state,
/// as rounded copies and scales are.
bool holds_weights(const State& state);

/// Returns every weight tensor as f32, under its first checkpoint name, with the shape and dimension order of
/// the checkpoint. Throws Error if a tensor is sharded over ranks.
std::vector<HostTensor> weights_of(const Session& session);

}  // namespace smelt
