// Footprints of steps: the elements of buffers that a step reads and writes. A footprint is conservative: if
// sizes or offsets are not constant, it covers more elements than the step accesses, never fewer.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/program/program.h"

namespace smelt {

/// Access of a step to elements [begin, end) of one piece of memory.
struct Touch {
  /// Identifies the piece of memory. For a buffer that is no part of a state: the buffer's number. For the
  /// buffers of state s: -2 - s, because they are parts of one memory. For collectives: -1; every collective
  /// counts as a write of the same element, so that collectives keep their order.
  int memory = -1;
  int64_t begin = 0, end = 0;
  bool written = false;  // false: read
};
using Footprint = std::vector<Touch>;

/// Returns all accesses of a step.
Footprint footprint(const Program& program, const Step& step);
/// Returns whether two accesses have an element in common.
bool same_elements(const Touch& a, const Touch& b);
/// Returns whether the order of two steps matters, given their footprints: one step writes elements that the
/// other one reads or writes.
bool conflict(const Footprint& a, const Footprint& b);
/// Returns the total size in bytes, at the symbols' bounds, of the arena's buffers (in_arena) that a step
/// reads.
int64_t arena_bytes_read(const Program& program, const Step& step);

}  // namespace smelt
