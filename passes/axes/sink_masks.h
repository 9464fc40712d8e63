// sink_masks: the body of an attention computes what it would read for each score, where that is computed,
// element by element, from values of fewer axes or from places alone.
//
//   %seen = logical_and (le %s, %t), %mask : bool[B,T,T]       attention ... (%score, %a = %mask) {
//   attention ... (%score, %a = %seen) { ... }             =>    %seen = ...
//                                                              }
//
// A mask of T x T numbers then is nowhere in memory. Values stay the same.
#pragma once

#include "ir/graph.h"

namespace smelt {

struct SinkMasksOptions {};
bool sink_masks(Graph& graph, const SinkMasksOptions& options);

}  // namespace smelt
