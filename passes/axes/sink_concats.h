// sink_concats: operations on single elements of a concat work on its parts, and the concat comes behind
// them.
//
//   %c = concat (neg %high), %low {axis = 3}
//   %y = add (mul %x, %cos), (mul %c, %sin)
//                      =>  %y = concat (sub (mul %low, %cos_low), (mul %high, %sin_low)),
//                                      (add (mul %high, %cos_high), (mul %low, %sin_high))
//
// where %low and %high are slices of %x: a rotation of halves then is one kernel that reads %x, and writes
// the parts of the result where they belong. Only where that saves memory or work: each part of the concat is
// computed from slices along its axis, so that what reads it can be sliced like them, or all parts are one
// value; and all readers are such operations, so that the concat is not needed for itself. The other operands
// are sliced: through operations on single elements that nothing else reads, and through broadcasts. Values
// stay the same.
#pragma once

#include "ir/graph.h"

namespace smelt {

struct SinkConcatsOptions {};
bool sink_concats(Graph& graph, const SinkConcatsOptions& options);

}  // namespace smelt
