// First-fit placement of allocations in an arena: each allocation in turn gets the lowest offset at which its
// memory is free during its lifetime.
#pragma once

#include <vector>

#include "passes/program/memory/allocation.h"

namespace smelt {

/// Placement of one list of allocations, which can be repeated in other orders.
class FirstFit {
 public:
  /// Requires: `allocations` outlives this object.
  explicit FirstFit(const std::vector<Allocation>& allocations);

  /// Discards the last placement. Places the allocations in this order; `order` has their indices in the
  /// list. Returns the size of the arena in bytes.
  int64_t place(const std::vector<int>& order);

  /// Returns the offset of each allocation in the last placement, in bytes; a multiple of kArenaAlignment.
  const std::vector<int64_t>& offsets() const { return offsets_; }
  /// Returns the number of comparisons of ranges in all placements so far. It measures the effort of a search
  /// by a number that is the same on every machine.
  int64_t comparisons() const { return comparisons_; }

 private:
  int64_t lowest_offset(const Allocation& allocation);
  int64_t lowest_offset(const LiveRange& range);
  int64_t raised(const Allocation& allocation, const LiveRange& taken, int64_t offset);
  void take(const Allocation& allocation, int64_t offset);

  const std::vector<Allocation>& allocations_;
  std::vector<int64_t> offsets_;
  std::vector<LiveRange> taken_;  // ranges of the placed allocations, sorted by LiveRange::begin
  int64_t comparisons_ = 0;
};

}  // namespace smelt
