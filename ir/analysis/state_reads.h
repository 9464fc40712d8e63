// Who reads a state's memory as it was when the entry began, and which part of it: what has to come before
// that part is written anew.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph.h"

namespace smelt {

/// Elements [begin, end) of a buffer; all of them where places depend on sizes of a run.
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

/// Of the state whose memory is `buffer`. Views with layouts in it are looked through; a concat in place both
/// reads its operands and is looked through. Updates are no readers: moves_content says how they take
/// content.
std::vector<StateRead> reads_of_state(const Graph& graph, int buffer);

/// Does the value show a state or a parameter as it was, in its memory?
bool is_old_content(const Value& value);
/// The update takes old content of a state that is written in this graph, from another place than its own:
/// what has to be copied before anything is written.
bool moves_content(const Graph& graph, const Node& update);

}  // namespace smelt
