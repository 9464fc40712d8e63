// Which elements of which buffers a step reads and writes. Where sizes or places are not fixed it is more
// than that, never less.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/program.h"

namespace smelt {

struct Touch {
  int memory = -1;  // a buffer; of a state, which several buffers may stand for, below -1
  int64_t begin = 0, end = 0;
  bool written = false;
};
using Footprint = std::vector<Touch>;

Footprint footprint(const Program& program, const Step& step);
/// Whether two touches of one memory may have an element in common.
bool same_elements(const Touch& a, const Touch& b);
/// Whether the order of two steps matters: one writes what the other reads or writes.
bool conflict(const Footprint& a, const Footprint& b);
/// Bytes of the arena, at the bounds, in the buffers that a step reads.
int64_t arena_bytes_read(const Program& program, const Step& step);

}  // namespace smelt
