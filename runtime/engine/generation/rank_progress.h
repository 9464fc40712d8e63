// Reports of progress between ranks during generation.
#pragma once

#include <string_view>

#include "runtime/session/session.h"

namespace smelt {

/// Reports to the other ranks that this rank is about to run an entry, so that they do not take this rank for
/// one that hangs. Does nothing if the session has no other ranks.
inline void tell_progress(const Session& session, std::string_view entry) {
  constexpr int64_t kOnlyStep = 0;
  if (RankGroups* ranks = session.ranks()) ranks->progress(entry, kOnlyStep);
}

}  // namespace smelt
