// Lifetimes of an entry's buffers over its steps, for ordering and memory planning.
#pragma once

#include <map>
#include <vector>

#include "ir/program/program.h"
#include "runtime/plan/plan_validate.h"

namespace smelt {

struct Lifetime {
  int first = -1, last = -1;      // steps, both ends included
  int64_t bytes = 0;              // at the bounds
  std::vector<BufferPart> parts;  // as in Buffer
};

/// Returns whether the arena holds the buffer: it is no state, constant, input or output.
bool in_arena(const Buffer& buffer);
int64_t bytes_at_bounds(const Program& program, const Buffer& buffer);
/// Throws Error naming the buffer if one buffer, or all together, take more memory than any machine has:
/// after this check, sums of sizes stay far below 2^63.
void check_sizes(const Program& program);
/// Returns lifetimes by buffer number, of the buffers in the arena that the steps use, without parts.
std::map<int, Lifetime> lifetimes(const Program& program, const std::vector<Step>& steps);
/// Returns the live ranges of a buffer at this offset of the arena.
std::vector<LiveRange> live_ranges(const Lifetime& life, int64_t offset_bytes);
/// Returns the live bytes at every step.
std::vector<int64_t> live_bytes(const std::map<int, Lifetime>& lifetimes, size_t steps);
/// Returns the largest of them: no plan needs less.
int64_t peak_live_bytes(const std::map<int, Lifetime>& lifetimes, size_t steps);

}  // namespace smelt
