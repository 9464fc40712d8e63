// Progress that ranks report to each other during generation.
#pragma once

#include <string_view>

#include "runtime/session/session.h"

namespace smelt {

/// Reports progress before a run of an entry, so that a rank that continues is distinguished from one that
/// hangs.
inline void tell_progress(const Session& session, std::string_view entry) {
  constexpr int64_t kOnlyStep = 0;
  if (RankGroups* ranks = session.ranks()) ranks->progress(entry, kOnlyStep);
}

}  // namespace smelt
