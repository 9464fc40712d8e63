// Placement of allocations in an arena.
#pragma once

#include <vector>

#include "passes/program/memory/allocation.h"

namespace smelt {

// ---- place_allocations.cpp
// Search for offsets of allocations. First fit depends on the order of allocations, so several orders are
// tried and the best are improved: allocations that reach the top of the arena, and a few others, are placed
// earlier. The number of tries depends on the allocations alone, so the result is equal on every machine.

struct ArenaPlacement {
  int64_t bytes = 0;             // of the arena
  std::vector<int64_t> offsets;  // by allocation, multiples of kArenaAlignment
};

/// Places allocations so that none overlap while both live. Never needs more memory than first fit by
/// decreasing size. `least` holds the least_bytes at each step.
ArenaPlacement place_allocations(const std::vector<Allocation>& allocations,
                                 const std::vector<int64_t>& least);

// ---- placement_orders.cpp
// Orders in which allocations are placed.

/// Returns promising orders of the allocations' numbers: by size; by size times lifetime; those with parts
/// first, then by lifetime; those next to the peak first, then by lifetime; and two orders with those that
/// live at the peak first (by lifetime, by last step), then the others (by size, by size times lifetime).
/// `least` holds the least_bytes at each step; its largest value is the peak.
std::vector<std::vector<int>> placement_orders(const std::vector<Allocation>& allocations,
                                               const std::vector<int64_t>& least);

}  // namespace smelt
