// Links: operations that follow every one of the matmuls that the pass merge_gemms merges, and that the pass
// then does once, on the merged result.
//
//   z_i = y_i * s + b_i   ->  Z = Y * s + concat(b_i), z_i = slices of Z
#pragma once

#include <string>
#include <vector>

#include "passes/graph/fusion/gemm_members.h"

namespace smelt {

/// The same binary pointwise operation on a value of each member, which it alone reads. The other operand is
/// a broadcast: of one value for all members, or of a parameter of each.
struct Link {
  std::vector<Node*> nodes;   // in the order of the members
  unsigned side = 0;          // number of the operand that is the member's value
  Value* shared = nullptr;    // what is broadcast for all members; null: the members' `parameters`
  Stack parameters;           // vectors along the axis of the merge, which can be stacked in this order
  std::vector<int64_t> axes;  // of the broadcast
};

/// Returns the links of the members, which are in the order in which they are stacked, one after the other.
/// `axis` is the axis of the results along which they are merged. Values that all members share come before
/// `place` in the graph.
std::vector<Link> links_of(Graph& graph, const Members& members, int64_t axis, const Node* place);
/// Returns the link's operation on the merged value.
Value* link(GraphBuilder& b, const Link& link, Value* whole);

}  // namespace smelt
