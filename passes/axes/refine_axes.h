// refine_axes: a reshape between two operations that a kernel could compute together goes away, because both
// get the same axes.
//
//   %y = add %x, %bias : f32[R,768]              %x' = reshape %x : f32[B,T,768]
//   %z = reshape %y : f32[B,T,768]         =>    %z = add %x', %bias'
//   %g = gelu %z                                 %g = gelu %z
//
// Axes that operations on single elements, broadcasts, transposes, reductions, gathers, slices and concats
// move along together are one class (axis_relations.h). A reshape that only splits, joins, adds or drops axes
// says which classes consist of others; the class is split so everywhere, axes of one element are dropped
// everywhere, and then the reshape's two sides have the same axes. Reshapes move to where such operations
// border on others: leaves, matmuls, attention, outputs. A matmul whose result has a split axis takes it on,
// as letters, where the operand that has the axis is behind such a border itself, so that the reshape there
// meets its inverse, which simplify removes.
//
// What stays as it is: rows' axes that are reduced, drawn numbers' columns, axes that a slice, concat, gather
// or iota indexes, looked-up keys and values of an attention, the graph's inputs, outputs and states. A
// reshape that would split one of these remains, as does one that no kernel could be joined across: between a
// matmul and what follows it, for instance, unless it keeps the last axis. Values stay the same.
#pragma once

#include "ir/graph.h"

namespace smelt {

struct RefineAxesOptions {};
bool refine_axes(Graph& graph, const RefineAxesOptions& options);

}  // namespace smelt
