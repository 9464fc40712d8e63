// Placement of allocations in an arena.
#pragma once

#include <vector>

#include "passes/program/memory/allocation.h"

namespace smelt {

// ---- place_allocations.cpp
// Search for offsets of allocations. The result of first fit (first_fit.h) depends on the order of
// allocations. So several orders are tried, and the best two are varied: allocations that end at the top of
// the arena, and a few others, are placed earlier. The number of tries depends only on the allocations and
// not on time, so the result is equal on every machine.

struct ArenaPlacement {
  int64_t bytes = 0;             // of the arena
  std::vector<int64_t> offsets;  // bytes, one per allocation; multiples of kArenaAlignment
};

/// Places allocations so that no two overlap while both are live. The arena is at most as large as that of
/// first fit by decreasing size. `least` has for each step a lower bound of the bytes that any placement
/// needs at that step (least_bytes in allocation.h).
ArenaPlacement place_allocations(const std::vector<Allocation>& allocations,
                                 const std::vector<int64_t>& least);

// ---- placement_orders.cpp
// Orders in which allocations are placed.

/// Returns promising orders of the allocations' numbers. `least` is as for place_allocations. The peak is the
/// step with the largest element of `least`. All orders by size, by lifetime (number of steps) and by last
/// step begin with the largest number:
///   1. by size
///   2. by size times lifetime
///   3. allocations with parts (BufferPart) by lifetime, then the others by lifetime
///   4. by distance from the peak, the nearest first, then by lifetime
///   5. allocations that live at the peak by lifetime, then the others by size
///   6. allocations that live at the peak by last step, then the others by size times lifetime
std::vector<std::vector<int>> placement_orders(const std::vector<Allocation>& allocations,
                                               const std::vector<int64_t>& least);

}  // namespace smelt
