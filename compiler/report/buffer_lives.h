// Where the buffers of an entry lie in the arena, and from which step to which.
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

/// Of every buffer in the arena that the entry's steps use, by number. Memory has been planned.
std::vector<BufferLife> buffer_lives(const std::vector<Buffer>& buffers, const PlanEntry& entry);

/// Bytes of the arena in use at every step; what two buffers share counts once.
std::vector<int64_t> used_bytes(const std::vector<BufferLife>& lives, size_t steps);

/// The buffers that the entry's steps or ports use, in order.
std::vector<int> buffers_of(const PlanEntry& entry);

}  // namespace smelt
