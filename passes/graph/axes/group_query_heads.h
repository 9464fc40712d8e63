// group_query_heads: removes the repetition of key and value heads before an attention, which then reads each
// of them once for a group of query heads (grouped-query attention).
//
//   %r = broadcast %k {axes = [0, 1, 3, 4]} : f32[B,2,3,T,64]
//   %h = reshape %r : f32[B,6,T,64]
//   %t = transpose %h {permutation = [0, 2, 1, 3]}
//   attention %q, %t, ...
//     =>
//   %t = transpose %k {permutation = [0, 2, 1, 3]}
//   attention %q, %t, ...
//
// The pattern is a broadcast along a new axis directly after the head axis and a reshape that joins the two,
// perhaps with a transpose before or after. Keys and values must have the same number of heads, repeated
// equally often. Values stay the same, because an attention maps query head h to key head h / group.
#pragma once

#include "ir/graph/graph.h"

namespace smelt {

struct GroupQueryHeadsOptions {};
bool group_query_heads(Graph& graph, const GroupQueryHeadsOptions& options);

}  // namespace smelt
