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
/// Returns the region of a value. If its offset or size is known only at launch, returns [0, INT64_MAX),
/// which stands for the whole buffer.
Region region_of(const Layout& layout, const Shape& shape);
inline bool overlap(const Region& a, const Region& b) { return a.begin < b.end && b.begin < a.end; }

/// One read of the memory of a state by a node.
struct StateRead {
  const Node* reader;
  const Value* value;  // operand that is read: a state, a parameter, or a view of one; has a layout
  Region region;       // the elements of the state's buffer that `value` occupies
};

/// Returns the reads of the state whose memory is `buffer`, including reads of views in this memory. A node
/// whose result is such a view is not a read, unless it is a concat. Updates are not included (see
/// moves_content).
std::vector<StateRead> reads_of_state(const Graph& graph, int buffer);

/// Returns whether the value is a state or a parameter, or a view in the memory of one.
bool is_old_content(const Value& value);
/// Returns whether `update` moves old content: whether it stores old content of a state in another state, or
/// in another position of the same state. Such content must be copied before any update writes. Returns false
/// if the graph does not write the state that has the old content.
bool moves_content(const Graph& graph, const Node& update);

}  // namespace smelt
