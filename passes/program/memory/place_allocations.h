// Search for offsets of allocations. First fit depends on the order of allocations, so several orders are
// tried and the best are improved: allocations that reach the top of the arena, and a few others, are placed
// earlier. The number of tries depends on the allocations alone, so the result is equal on every machine.
#pragma once

#include <vector>

#include "passes/program/memory/allocation.h"

namespace smelt {

struct ArenaPlacement {
  int64_t bytes = 0;             // of the arena
  std::vector<int64_t> offsets;  // by allocation, multiples of kArenaAlignment
};

/// Places allocations so that none overlap while both live. Never needs more memory than first fit by
/// decreasing size. `least` holds the least_bytes at each step.
ArenaPlacement place_allocations(const std::vector<Allocation>& allocations,
                                 const std::vector<int64_t>& least);

}  // namespace smelt
