// Footprints of steps: the elements of buffers that a step reads and writes. If sizes or offsets are not
// constant, a footprint covers more elements, never fewer.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/program/program.h"

namespace smelt {

struct Touch {
  /// Number of a buffer; a number below -1: a state, which several buffers may be parts of; -1: communication
  /// between ranks, which keeps collectives in order.
  int memory = -1;
  int64_t begin = 0, end = 0;
  bool written = false;
};
using Footprint = std::vector<Touch>;

Footprint footprint(const Program& program, const Step& step);
/// Returns whether two touches of one memory may have an element in common.
bool same_elements(const Touch& a, const Touch& b);
/// Returns whether the order of two steps matters: one writes elements that the other reads or writes.
bool conflict(const Footprint& a, const Footprint& b);
/// Returns the bytes in the arena, at the bounds, of the buffers that a step reads.
int64_t arena_bytes_read(const Program& program, const Step& step);

}  // namespace smelt
