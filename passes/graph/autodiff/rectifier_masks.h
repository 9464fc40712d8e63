// rectifier_masks: backward derives the masks of a rectifier and of a dropout from the sign of the stored
// result.
//
//   r = x <= 0 ? 0 : x
//   h = keep ? r * c : 0, which a matmul reads        dx = x <= 0 ? 0 : (keep ? g : 0) * c
//   becomes                                            dx = h <= 0 ? 0 : g * c
//
// Here c > 0; either factor and the dropout may be missing. The matmul needs h in memory for its own
// gradient, so x need not be kept, h is not recomputed, and no random numbers are drawn twice. A gradient
// that also has a contribution from outside the dropout keeps its mask. Runs before rematerialize. If x is so
// small that the stored h is 0 (below 3e-8 in f16), the gradient becomes 0 instead of g.
#pragma once

#include "ir/graph/graph.h"

namespace smelt {

struct RectifierMasksOptions {};
bool rectifier_masks(Graph& graph, const RectifierMasksOptions& options);

}  // namespace smelt
