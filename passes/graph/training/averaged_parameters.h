// Averaged parameters: those at which a model is evaluated, if its training averages them.
//
//   %w = parameter "w" : f32[3,5]     =>    %o = state "parameters.average" : f32[32]
//                                           %p = parameter "w" : f32[3,5]
//                                           %w = add %p, (the segment "w" of %o)
//
// The state kAverageOffset (runtime/plan/plan.h) is a flat state: the averaged parameters minus the
// parameters. It begins as 0, so an average begins as the initial weights, whatever they are.
#pragma once

#include "ir/graph/graph.h"
#include "runtime/plan/plan.h"

namespace smelt {

/// Replaces the trained parameters that the graph reads by averaged ones; returns whether there are any. Does
/// nothing if the module has no state of averages. Requires: flat states have one dim.
bool read_averages(Graph& graph);

}  // namespace smelt
