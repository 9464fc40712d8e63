// rectifier_masks: backward reads off the result what a rectifier let through and what dropout kept of it.
//
//   r = x <= 0 ? 0 : x
//   h = keep ? r * c : 0, which a matmul reads        dx = x <= 0 ? 0 : (keep ? g : 0) * c
//   becomes                                            dx = h <= 0 ? 0 : g * c
//
// (c > 0; either factor and the dropout may be missing.) The matmul needs h in memory for its own gradient,
// so that x need not be kept, h is not computed again, and no random numbers are drawn twice. A gradient that
// also comes from elsewhere, past the dropout, keeps its mask. Contract: before rematerialize. Where x is so
// small that the stored h is 0 (below 3e-8 in f16), the gradient becomes 0 instead of g.
#pragma once

#include "ir/graph.h"

namespace smelt {

struct RectifierMasksOptions {};
bool rectifier_masks(Graph& graph, const RectifierMasksOptions& options);

}  // namespace smelt
