// First-fit placement: each allocation in turn gets the lowest offset that is free during its lifetime.
#pragma once

#include <vector>

#include "passes/program/memory/allocation.h"

namespace smelt {

class FirstFit {
 public:
  /// Requires: `allocations` outlives this object.
  explicit FirstFit(const std::vector<Allocation>& allocations);

  /// Places the allocations with these numbers in this order. Returns the bytes of the arena.
  int64_t place(const std::vector<int>& order);

  /// Returns the offsets by allocation, of the last placement.
  const std::vector<int64_t>& offsets() const { return offsets_; }
  /// Returns the number of range comparisons of all placements: a measure of time that is equal on every
  /// machine.
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
