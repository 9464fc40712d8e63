// Reads of the old content of states: the content at the start of the entry, before its updates. A node that
// reads a part of the old content must run before an update overwrites that part. Requires: assign_layout has
// run.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph/graph.h"

namespace smelt {

/// Elements [begin, end) of a buffer.
struct Region {
  int64_t begin = 0, end = 0;
};
/// Returns the region of a value; the whole buffer, as [0, INT64_MAX), if offset or size is known only at
/// launch.
Region region_of(const Layout& layout, const Shape& shape);
inline bool overlap(const Region& a, const Region& b) { return a.begin < b.end && b.begin < a.end; }

/// One read of the memory of a state by a node.
struct StateRead {
  const Node* reader;
  const Value* value;  // operand of `reader`: a state, a parameter, or a view in their memory; has a layout
  Region region;       // of `value`
};

/// Returns the reads of the state whose memory is `buffer`, including reads of views in this memory. A concat
/// of such views is a read, even if its result is a view in this memory too. Updates are not included; for
/// them, see moves_content().
std::vector<StateRead> reads_of_state(const Graph& graph, int buffer);

/// Returns whether the value is a state or a parameter, or a view in the memory of one.
bool is_old_content(const Value& value);
/// Returns whether the update stores old content of a state that the graph writes, and stores it in another
/// state or at another position. That content must then be copied before any update writes.
bool moves_content(const Graph& graph, const Node& update);

}  // namespace smelt
