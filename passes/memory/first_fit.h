// Placement of allocations one after the other, each at the lowest offset that is free while it lives.
#pragma once

#include <vector>

#include "passes/memory/allocation.h"

namespace smelt {

class FirstFit {
 public:
  /// `allocations` must outlive this object.
  explicit FirstFit(const std::vector<Allocation>& allocations);

  /// Places the allocations with these numbers in this order. Returns the bytes of the arena.
  int64_t place(const std::vector<int>& order);

  /// By allocation, of the last placement.
  const std::vector<int64_t>& offsets() const { return offsets_; }
  /// Ranges that were compared by all placements: a measure of time that is the same on every machine.
  int64_t comparisons() const { return comparisons_; }

 private:
  int64_t lowest_offset(const Allocation& allocation);
  int64_t lowest_offset(const LiveRange& range);
  int64_t raised(const Allocation& allocation, const LiveRange& taken, int64_t offset);
  void take(const Allocation& allocation, int64_t offset);

  const std::vector<Allocation>& allocations_;
  std::vector<int64_t> offsets_;
  std::vector<LiveRange> taken_;  // by where they begin
  int64_t comparisons_ = 0;
};

}  // namespace smelt
