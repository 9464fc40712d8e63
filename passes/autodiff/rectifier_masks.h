// rectifier_masks: what a rectifier let through, and what dropout kept of it, backward reads off the result.
//
//   h = keep ? max(x, 0) * c : 0, which a matmul reads        dx = x >= 0 ? (keep ? g : 0) * c : 0
//   becomes                                                    dx = h > 0 ? g * c : 0
//
// (c > 0; either factor and the dropout may be missing.) The matmul needs h in memory for its own gradient,
// so x need not be kept, h not be computed again, and no random numbers be drawn twice. A gradient that comes
// from elsewhere as well, past the dropout, keeps its mask.
// Contract: before rematerialize. Where x is 0 itself, or so small that the stored h is (below 3e-8 in f16),
// the gradient is 0, no longer g.
#pragma once

#include "ir/graph.h"

namespace smelt {

struct RectifierMasksOptions {};
bool rectifier_masks(Graph& graph, const RectifierMasksOptions& options);

}  // namespace smelt
