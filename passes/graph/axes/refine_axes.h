// refine_axes: removes a reshape between two operations that could share a kernel, by giving both the same
// axes.
//
//   %y = add %x, %bias : f32[R,768]              %x' = reshape %x : f32[B,T,768]
//   %z = reshape %y : f32[B,T,768]         =>    %z = add %x', %bias'
//   %g = gelu %z                                 %g = gelu %z
//
// Axes of two values form one class if one loop of an operation iterates over both (axis_relations.h). The
// operations are elementwise operations, broadcasts, transposes, reductions, gathers, slices and concats. A
// reshape that only splits, joins, adds or drops axes determines into which smaller axes a class is split:
// above, R = B * T is split into B and T. Each class is then split in all these operations, and axes of
// extent 1 are dropped, so that both sides of the reshape have the same axes. New reshapes are added between
// these operations and all others: nodes without operands, matmuls, attention, outputs. There is one
// exception: the result of a matmul needs no new reshape for a split axis if the operand with that axis comes
// from a reshape. The matmul then computes the split axes itself, and its spec gets one letter per part.
//
// These axes are not split: the last axis of a reduction's operand if it is reduced, the last axis of random
// numbers, axes that a slice, concat, gather or iota indexes, axes of keys and values that an attention
// gathers from a table, and axes of the graph's inputs, outputs and states. A reshape that would split one of
// these remains. If no kernel computes the nodes on both sides of a reshape together (for instance a matmul
// and its user), the reshape remains, unless it joins leading axes and keeps the last axis. Values stay the
// same.
#pragma once

#include "ir/graph/graph.h"

namespace smelt {

struct RefineAxesOptions {};
bool refine_axes(Graph& graph, const RefineAxesOptions& options);

}  // namespace smelt
