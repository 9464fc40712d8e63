// Lifetimes of an entry's buffers over its steps, for ordering and planning.
#pragma once

#include <map>
#include <vector>

#include "ir/program.h"
#include "runtime/plan/plan_validate.h"

namespace smelt {

struct Lifetime {
  int first = -1, last = -1;      // steps, both ends included
  int64_t bytes = 0;              // at the bounds
  std::vector<BufferPart> parts;  // as in Buffer
};

/// Buffers that the arena holds: not states, constants, inputs and outputs.
bool in_arena(const Buffer& buffer);
int64_t bytes_at_bounds(const Program& program, const Buffer& buffer);
/// Throws Error naming the buffer where one, or all together, take more than any machine has: after this
/// check, sums of sizes stay far below 2^63.
void check_sizes(const Program& program);
/// By buffer number, of the buffers in the arena that the steps use. No parts.
std::map<int, Lifetime> lifetimes(const Program& program, const std::vector<Step>& steps);
/// The ranges of a buffer at this offset of the arena.
std::vector<LiveRange> live_ranges(const Lifetime& life, int64_t offset_bytes);
/// Bytes live at every step.
std::vector<int64_t> live_bytes(const std::map<int, Lifetime>& lifetimes, size_t steps);
/// The largest of them: no plan needs less.
int64_t peak_live_bytes(const std::map<int, Lifetime>& lifetimes, size_t steps);

}  // namespace smelt
