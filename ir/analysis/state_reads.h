// Which nodes read a state's memory as it was when the entry began, and which part of it: they have to run
// before that part is overwritten.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph.h"

namespace smelt {

/// Elements [begin, end) of a buffer; all of them where offsets depend on the sizes of a run.
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

/// The reads of the state whose memory is `buffer`. Views with layouts in it are looked through; a concat in
/// place reads its operands and is looked through as well. Updates do not count as readers: moves_content
/// says whether they take old content.
std::vector<StateRead> reads_of_state(const Graph& graph, int buffer);

/// Whether the value is old content of a state or a parameter, in its memory.
bool is_old_content(const Value& value);
/// Whether the update takes old content of a state that this graph writes, from another place than its own:
/// that content has to be copied before anything is written.
bool moves_content(const Graph& graph, const Node& update);

}  // namespace smelt
