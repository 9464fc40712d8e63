// Softmax as it is computed with max_sumexp: m, s = max_sumexp x are the maximum of each row and its sum of
// exp(x - m), and the probabilities are exp(x - m) / s. The backward phase recomputes the probabilities from
// m and s, so that only these two numbers per row are stored.
#pragma once

#include <vector>

#include "passes/graph/reductions/row_emitter.h"

namespace smelt {

struct Softmax {
  Node* pair;                        // the max_sumexp node, with the results m and s
  RowSpace space;                    // of the reduction over each row
  std::vector<Node*> probabilities;  // nodes that compute exp(x - m) / s, in any phase
  std::vector<Node*> parts;          // nodes between m and the probabilities: broadcast m, x - m, exp
};
/// Returns the nodes that compute probabilities from `pair`, a max_sumexp node; the lists are empty if there
/// are none.
Softmax find_softmax(Node& pair);

/// Returns whether a node of the backward phase reads m, s or one of `parts` for anything but probabilities.
bool used_otherwise(const Softmax& softmax);

/// Emits exp((x - m) - log s) before `place`, in the phase of `place`, and returns it. The new
/// nodes are marked as recomputed (Node::anchored), so that no pass merges them with equal ones of another
/// phase. m and log s are computed in the phase of `pair`. They are subtracted one after the other,
/// because the sum m + log s would be rounded to the digits of m, while x - m is exact near the maximum.
Value* probability_from_statistics(RowEmitter& emit, const Softmax& softmax, Node& place);

}  // namespace smelt
