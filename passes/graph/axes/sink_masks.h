// sink_masks: moves the computation of a mask into the body of an attention if the mask is computed
// elementwise from values of fewer axes or from positions alone.
//
//   %seen = logical_and (le %s, %t), %mask : bool[B,T,T]       attention ... (%score, %a = %mask) {
//   attention ... (%score, %a = %seen) { ... }             =>    %seen = ...
//                                                              }
//
// No mask of T x T elements is then in memory. Values stay the same.
#pragma once

#include "ir/graph/graph.h"

namespace smelt {

struct SinkMasksOptions {};
bool sink_masks(Graph& graph, const SinkMasksOptions& options);

}  // namespace smelt
