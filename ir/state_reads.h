// Who reads a state's memory as it was when the entry began, and which part of it: what has to come before
// that part is written anew.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace smelt {

struct StateRead {
  const Node* reader;
  const Value* value;  // the state or a parameter, or a view with their memory: what the reader's operand is
};

/// Of the state whose memory is `buffer`. Views with layouts in it are looked through; a concat in place both
/// reads its operands and is looked through.
std::vector<StateRead> reads_of_state(const Graph& graph, int buffer);

/// Could an element of one be one of the other? True where their places depend on sizes of a run.
bool may_overlap(const Layout& a, const Shape& a_shape, const Layout& b, const Shape& b_shape);

}  // namespace smelt
