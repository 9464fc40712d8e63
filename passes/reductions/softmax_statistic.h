// A softmax as max_sumexp leaves it: m, s = max_sumexp x, then exp(x - m) / s; and how backward computes it
// from one stored statistic per row.
#pragma once

#include <vector>

#include "passes/reductions/row_emitter.h"

namespace smelt {

struct Softmax {
  Node* pair;  // max_sumexp: m, s
  RowSpace space;
  std::vector<Node*> probabilities;  // exp(x - m) / s
  std::vector<Node*> parts;          // what stands between m, s and them
};
Softmax find_softmax(Node& pair);

/// Whether backward uses the pieces for anything but probabilities.
bool used_otherwise(const Softmax& softmax);

/// exp((x - c) - ((m - c) + log s)) for use at `place`, in its phase and anchored there. The statistic is
/// computed in the forward phase; c, the row's shift, comes from x again: without it a common offset of the
/// row would cost digits.
Value* probability_from_statistic(RowEmitter& emit, const Softmax& softmax, Node& place);

}  // namespace smelt
