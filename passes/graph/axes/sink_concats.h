// sink_concats: moves elementwise operations on a concat to its parts, so that the concat comes after them.
//
//   %c = concat (neg %high), %low {axis = 3}
//   %y = add (mul %x, %cos), (mul %c, %sin)
//                      =>  %y = concat (sub (mul %low, %cos_low), (mul %high, %sin_low)),
//                                      (add (mul %high, %cos_high), (mul %low, %sin_high))
//
// Here %low and %high are slices of %x: a rotary embedding becomes one kernel that reads %x and writes each
// half of the result in place. The rewrite applies only where it saves memory or work: each part of the
// concat is computed from slices along its axis, so that other operands can be sliced alike, or all parts are
// one value; and all readers of the concat are such operations. Other operands are sliced through elementwise
// operations without another reader and through broadcasts. Values stay the same.
#pragma once

#include "ir/graph/graph.h"

namespace smelt {

struct SinkConcatsOptions {};
bool sink_concats(Graph& graph, const SinkConcatsOptions& options);

}  // namespace smelt
