// make_backward: for every graph @NAME one more, @NAME.backward, that also computes the gradients of its
// inputs and parameters from those of its outputs.
//
//   graph @g(%x: f32[3]) {        graph @g.backward(%grad.y: f32[3], %x: f32[3]) {
//     %y = exp %x : f32[3]          %y = exp %x : f32[3]
//     return y = %y                 %0 = mul %grad.y, %y {phase = "backward"} : f32[3]
//   }                               return y = %y, grad.x = %0
//                                 }
//
// Only floats have gradients. A graph that updates states, or has no float among its inputs or outputs, gets
// no other. Contract: the graphs that were there stay as they are; what is not forward has phase =
// "backward".
#pragma once

#include "ir/graph.h"

namespace smelt {

struct MakeBackwardOptions {};
bool make_backward(Module& module, const MakeBackwardOptions& options = {});

}  // namespace smelt
