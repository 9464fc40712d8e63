// Locations of an entry's buffers in the arena (the memory of temporary values), and the ranges of steps in
// which the buffers are live.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/plan/plan_validate.h"

namespace smelt {

/// The live ranges of a buffer. A buffer whose parts have different lifetimes has one range per part. A range
/// has an interval of bytes of the arena, [begin, end), and an interval of steps, `first` to `last`,
/// inclusive.
struct BufferLife {
  int buffer = -1;  // number of the buffer
  std::vector<LiveRange> ranges;
};

/// Returns the life of every buffer in the arena that the entry's steps or ports use, in the order of their
/// numbers. Requires: memory has been planned.
std::vector<BufferLife> buffer_lives(const std::vector<Buffer>& buffers, const PlanEntry& entry);

/// Returns, for each of the entry's `steps` steps, the bytes of the arena that are in use at that step.
/// Memory that two buffers share counts once.
std::vector<int64_t> used_bytes(const std::vector<BufferLife>& lives, size_t steps);

/// Returns the numbers of the buffers that the entry's steps or ports use, in ascending order.
std::vector<int> buffers_of(const PlanEntry& entry);

}  // namespace smelt
