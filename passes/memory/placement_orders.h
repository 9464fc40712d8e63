// Orders in which allocations are placed.
#pragma once

#include <vector>

#include "passes/memory/allocation.h"

namespace smelt {

/// Returns orders of the allocations' numbers that are worth trying: by size; by size times lifetime; those
/// with parts first, then by lifetime; those next to the peak first, then by lifetime; and twice those that
/// live at the peak first (by lifetime, by last step), then the others (by size, by size times lifetime).
/// `least` are least_bytes at each step, whose largest is the peak.
std::vector<std::vector<int>> placement_orders(const std::vector<Allocation>& allocations,
                                               const std::vector<int64_t>& least);

}  // namespace smelt
