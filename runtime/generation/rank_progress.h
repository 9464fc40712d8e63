// What ranks that generate together tell each other of how far they are.
#pragma once

#include <string_view>

#include "runtime/session.h"

namespace smelt {

/// Before a run of an entry: a rank that goes on is told from one that hangs.
inline void tell_progress(const Session& session, std::string_view entry) {
  constexpr int64_t kOnlyStep = 0;
  if (RankGroups* ranks = session.ranks()) ranks->progress(entry, kOnlyStep);
}

}  // namespace smelt
