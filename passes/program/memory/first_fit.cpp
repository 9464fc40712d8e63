#include "passes/program/memory/first_fit.h"

#include <algorithm>

namespace smelt {
namespace {

bool at_one_time(int first, int last, const LiveRange& other) {
  return first <= other.last && other.first <= last;
}

}  // namespace

FirstFit::FirstFit(const std::vector<Allocation>& allocations)
    : allocations_(allocations), offsets_(allocations.size()) {}

int64_t FirstFit::place(const std::vector<int>& order) {
  taken_.clear();
  int64_t arena = 0;
  for (const int number : order) {
    const Allocation& allocation = allocations_[static_cast<size_t>(number)];
    const bool simple = allocation.life.parts.empty();
    const int64_t offset = simple ? lowest_offset(allocation.ranges.front()) : lowest_offset(allocation);
    offsets_[static_cast<size_t>(number)] = offset;
    take(allocation, offset);
    arena = std::max(arena, offset + aligned(allocation.life.bytes));
  }
  return arena;
}

int64_t FirstFit::lowest_offset(const LiveRange& range) {
  int64_t offset = 0;
  for (const LiveRange& taken : taken_) {
    ++comparisons_;
    if (taken.begin >= offset + range.end) break;
    if (taken.end > offset && at_one_time(range.first, range.last, taken)) offset = aligned(taken.end);
  }
  return offset;
}

int64_t FirstFit::lowest_offset(const Allocation& allocation) {
  int64_t offset = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (const LiveRange& taken : taken_) {
      ++comparisons_;
      if (taken.begin >= offset + allocation.life.bytes) break;
      if (taken.end <= offset || !at_one_time(allocation.life.first, allocation.life.last, taken)) continue;
      const int64_t next = raised(allocation, taken, offset);
      moved |= next > offset;
      offset = next;
    }
  }
  return offset;
}

/// The offset, or a higher one at which no range of the allocation overlaps `taken`.
int64_t FirstFit::raised(const Allocation& allocation, const LiveRange& taken, int64_t offset) {
  for (const LiveRange& range : allocation.ranges) {
    ++comparisons_;
    if (taken.overlaps({range.begin + offset, range.end + offset, range.first, range.last}))
      offset = aligned(taken.end - range.begin);
  }
  return offset;
}

void FirstFit::take(const Allocation& allocation, int64_t offset) {
  for (LiveRange range : allocation.ranges) {
    range.begin += offset, range.end += offset;
    taken_.insert(std::ranges::upper_bound(taken_, range.begin, {}, &LiveRange::begin), range);
  }
}

}  // namespace smelt
