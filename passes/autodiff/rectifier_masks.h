// rectifier_masks: backward reads off the result what a rectifier let through and what dropout kept of it.
//
//   h = keep ? max(x, 0) * c : 0, which a matmul reads        dx = x >= 0 ? (keep ? g : 0) * c : 0
//   becomes                                                    dx = h > 0 ? g * c : 0
//
// (c > 0; either factor and the dropout may be missing.) The matmul needs h in memory for its own gradient,
// so that x need not be kept, h is not computed again, and no random numbers are drawn twice. A gradient that
// also comes from elsewhere, past the dropout, keeps its mask. Contract: before rematerialize. Where x is 0
// itself, or so small that the stored h is (below 3e-8 in f16), the gradient becomes 0 instead of g.
#pragma once

#include "ir/graph.h"

namespace smelt {

struct RectifierMasksOptions {};
bool rectifier_masks(Graph& graph, const RectifierMasksOptions& options);

}  // namespace smelt
