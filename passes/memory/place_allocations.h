// Search for offsets of allocations. First fit depends on its order, so several orders are tried, and the
// best ones are improved: what reaches the top of the arena, and a few others, are placed earlier. The number
// of tries depends on the allocations alone, so the result is the same on every machine.
#pragma once

#include <vector>

#include "passes/memory/allocation.h"

namespace smelt {

struct ArenaPlacement {
  int64_t bytes = 0;             // of the arena
  std::vector<int64_t> offsets;  // by allocation, multiples of kArenaAlignment
};

/// Places allocations so that none overlap while both live. Never needs more than first fit by decreasing
/// size. `least` are least_bytes at each step.
ArenaPlacement place_allocations(const std::vector<Allocation>& allocations,
                                 const std::vector<int64_t>& least);

}  // namespace smelt
