// The weights of a session as a checkpoint would hold them.
#pragma once

#include <vector>

#include "runtime/session.h"

namespace smelt {

/// Whether checkpoints have what is in it: neither a rounded copy nor scales, which are made of that.
bool holds_weights(const State& state);

/// Every parameter under its first checkpoint name and in the checkpoint's layout, as f32. Throws Error where
/// ranks have parts of one.
std::vector<HostTensor> weights_of(const Session& session);

}  // namespace smelt
