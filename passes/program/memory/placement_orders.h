// Orders in which allocations are placed.
#pragma once

#include <vector>

#include "passes/program/memory/allocation.h"

namespace smelt {

/// Returns promising orders of the allocations' numbers: by size; by size times lifetime; those with parts
/// first, then by lifetime; those next to the peak first, then by lifetime; and two orders with those that
/// live at the peak first (by lifetime, by last step), then the others (by size, by size times lifetime).
/// `least` holds the least_bytes at each step; its largest value is the peak.
std::vector<std::vector<int>> placement_orders(const std::vector<Allocation>& allocations,
                                               const std::vector<int64_t>& least);

}  // namespace smelt
