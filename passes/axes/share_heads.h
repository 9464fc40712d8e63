// share_heads: an attention whose heads of keys and values were repeated for groups of query heads reads each
// of them once.
//
//   %r = broadcast %k {axes = [0, 1, 3, 4]} : f32[B,2,3,T,64]
//   %h = reshape %r : f32[B,6,T,64]
//   %t = transpose %h {permutation = [0, 2, 1, 3]}
//   attention %q, %t, ...
//     =>
//   %t = transpose %k {permutation = [0, 2, 1, 3]}
//   attention %q, %t, ...
//
// Heads are repeated by a broadcast along a new axis right behind theirs and a reshape that joins the two,
// perhaps transposed before or behind that. It must be so for keys and values alike: as many heads, each as
// often. Values stay the same: an attention takes head h / group of keys for query head h.
#pragma once

#include "ir/graph.h"

namespace smelt {

struct ShareHeadsOptions {};
bool share_heads(Graph& graph, const ShareHeadsOptions& options);

}  // namespace smelt
