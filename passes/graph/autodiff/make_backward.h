// make_backward: adds a graph @NAME.backward for every graph @NAME, which also computes the gradients of
// inputs and parameters from those of the outputs.
//
//   graph @g(%x: f32[3]) {        graph @g.backward(%grad.y: f32[3], %x: f32[3]) {
//     %y = exp %x : f32[3]          %y = exp %x : f32[3]
//     return y = %y                 %0 = mul %grad.y, %y {phase = "backward"} : f32[3]
//   }                               return y = %y, grad.x = %0
//                                 }
//
// Only floats have gradients. A graph that updates states, or that has no float input or no float output,
// gets no backward graph. Ensures: existing graphs stay as they are; nodes that are not forward carry phase =
// "backward".
#pragma once

#include "ir/graph/graph.h"

namespace smelt {

struct MakeBackwardOptions {};
bool make_backward(Module& module, const MakeBackwardOptions& options = {});

}  // namespace smelt
