// Softmax in the form that max_sumexp makes (m, s = max_sumexp x, then exp(x - m) / s), and its computation
// in backward from the two stored statistics of each row.
#pragma once

#include <vector>

#include "passes/graph/reductions/row_emitter.h"

namespace smelt {

struct Softmax {
  Node* pair;  // max_sumexp: m, s
  RowSpace space;
  std::vector<Node*> probabilities;  // exp(x - m) / s
  std::vector<Node*> parts;          // the nodes between m, s and the probabilities
};
Softmax find_softmax(Node& pair);

/// Returns whether backward uses the pieces for anything but probabilities.
bool used_otherwise(const Softmax& softmax);

/// Returns exp((x - m) - log s) for use at `place`, in its phase and anchored there. m and log s are values
/// of the forward phase. They stay two numbers because the exact difference x - m has all digits of a
/// probability, while the sum m + log s rounds to the digits of m.
Value* probability_from_statistics(RowEmitter& emit, const Softmax& softmax, Node& place);

}  // namespace smelt
