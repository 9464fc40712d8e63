// Which elements of which buffers a step reads and writes. Where sizes or offsets are not fixed, a footprint
// covers more elements than that, never fewer.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/program.h"

namespace smelt {

struct Touch {
  /// A buffer; a number below -1 for a state, which several buffers may stand for; -1 for what ranks see of
  /// one another, which keeps collectives in one order.
  int memory = -1;
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
