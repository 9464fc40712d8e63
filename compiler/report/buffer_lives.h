// Locations of an entry's buffers in the arena (the memory of temporary values), and the ranges of steps in
// which the buffers are live.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/plan/plan_validate.h"

namespace smelt {

/// The live ranges of a buffer. There are several if parts of the buffer have different lifetimes. A range is
/// the bytes [begin, end) of the arena, during the steps `first` to `last`, inclusive.
struct BufferLife {
  int buffer = -1;  // number of the buffer
  std::vector<LiveRange> ranges;
};

/// Returns the life of every buffer in the arena that the entry's steps or ports (inputs and outputs) use, in
/// the order of the buffers' numbers. Requires: memory has been planned.
std::vector<BufferLife> buffer_lives(const std::vector<Buffer>& buffers, const PlanEntry& entry);

/// Returns, for each of the entry's `steps` steps, the bytes of the arena that are in use at that step.
/// Memory that two buffers share counts once.
std::vector<int64_t> used_bytes(const std::vector<BufferLife>& lives, size_t steps);

/// Returns the numbers of the buffers that the entry's steps or ports use, in ascending order.
std::vector<int> buffers_of(const PlanEntry& entry);

}  // namespace smelt
