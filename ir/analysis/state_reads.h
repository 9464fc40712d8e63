// Reads of a state's memory at the start of the entry, with the part that they read: these nodes must run
// before that part is overwritten.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph/graph.h"

namespace smelt {

/// Elements [begin, end) of a buffer; all of them if offsets depend on the sizes of a run.
struct Region {
  int64_t begin = 0, end = 0;
};
Region region_of(const Layout& layout, const Shape& shape);
inline bool overlap(const Region& a, const Region& b) { return a.begin < b.end && b.begin < a.end; }

struct StateRead {
  const Node* reader;
  const Value* value;  // the state or a parameter, or a view with their memory; it has a layout
  Region region;
};

/// Returns the reads of the state whose memory is `buffer`. Readers of views with layouts in it count; so do
/// readers of an in-place concat, for its operands. Updates are not readers: moves_content says whether they
/// take old content.
std::vector<StateRead> reads_of_state(const Graph& graph, int buffer);

/// Returns whether the value is old content of a state or a parameter, in its memory.
bool is_old_content(const Value& value);
/// Returns whether the update takes old content of a state that this graph writes, from another position than
/// its own: that content must be copied before anything is written.
bool moves_content(const Graph& graph, const Node& update);

}  // namespace smelt
