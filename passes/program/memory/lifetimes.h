// Lifetimes of an entry's buffers, in numbers of steps. The passes order_steps and plan_memory use them.
// Sizes are those at the upper bounds of the symbols.
#pragma once

#include <map>
#include <vector>

#include "ir/program/program.h"
#include "runtime/plan/plan_validate.h"

namespace smelt {

/// Lifetime of one buffer.
struct Lifetime {
  int first = -1, last = -1;      // first and last step that use the buffer; -1: none
  int64_t bytes = 0;              // of the whole buffer
  std::vector<BufferPart> parts;  // with their own lifetimes; empty: all bytes live from first to last
};

/// Returns whether the buffer is in the arena, the memory that an entry's temporary buffers share. States,
/// constants, inputs and outputs are not.
bool in_arena(const Buffer& buffer);
/// Returns the bytes of the buffer at the symbols' upper bounds.
int64_t bytes_at_bounds(const Program& program, const Buffer& buffer);
/// Throws Error if the buffers together have more than 2^56 bytes; the message names the buffer at which the
/// sum exceeds this limit. After this check, sums of sizes stay far below 2^63.
void check_sizes(const Program& program);
/// Returns lifetimes by buffer number, for the buffers in the arena that the steps use. They have no parts
/// (find_parts in buffer_parts.h adds them).
std::map<int, Lifetime> lifetimes(const Program& program, const std::vector<Step>& steps);
/// Returns the live ranges of a buffer at this offset of the arena: one per part, or one for the whole
/// buffer.
std::vector<LiveRange> live_ranges(const Lifetime& life, int64_t offset_bytes);
/// Returns for each of `steps` steps the sum of the bytes that are live at it.
std::vector<int64_t> live_bytes(const std::map<int, Lifetime>& lifetimes, size_t steps);
/// Returns the largest number of live_bytes. If no buffers share memory in place (allocation.h), the arena
/// needs at least this many bytes.
int64_t peak_live_bytes(const std::map<int, Lifetime>& lifetimes, size_t steps);

}  // namespace smelt
