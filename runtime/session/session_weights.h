// The weights of a session in the layout of a checkpoint.
#pragma once

#include <vector>

#include "runtime/session/session.h"

namespace smelt {

/// Returns whether checkpoints hold this state: it is neither a rounded copy nor scales, because these are
/// derived.
bool holds_weights(const State& state);

/// Returns every parameter under its first checkpoint name and in the checkpoint's layout, as f32. Throws
/// Error if one is sharded over ranks.
std::vector<HostTensor> weights_of(const Session& session);

}  // namespace smelt
