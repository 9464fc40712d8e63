// The weights of a session as a checkpoint would hold them.
#pragma once

#include <vector>

#include "runtime/session.h"

namespace smelt {

/// Every parameter under its first checkpoint name and in the checkpoint's layout, as f32. Throws Error where
/// ranks have parts of one.
std::vector<HostTensor> weights_of(const Session& session);

}  // namespace smelt
