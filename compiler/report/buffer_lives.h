// The location of an entry's buffers in the arena, and the steps that they live from and to.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/plan/plan_validate.h"

namespace smelt {

/// A rectangle for each part of the buffer: bytes of the arena and steps, both ends included.
struct BufferLife {
  int buffer = -1;
  std::vector<LiveRange> ranges;
};

/// Returns the life of every buffer in the arena that the entry's steps use, by number. Requires: planned
/// memory.
std::vector<BufferLife> buffer_lives(const std::vector<Buffer>& buffers, const PlanEntry& entry);

/// Returns the bytes of the arena in use at every step; memory that two buffers share counts once.
std::vector<int64_t> used_bytes(const std::vector<BufferLife>& lives, size_t steps);

/// The buffers that the entry's steps or ports use, in order.
std::vector<int> buffers_of(const PlanEntry& entry);

}  // namespace smelt
