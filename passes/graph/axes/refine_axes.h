// refine_axes: removes a reshape between two operations that could share a kernel, by giving both the same
// axes.
//
//   %y = add %x, %bias : f32[R,768]              %x' = reshape %x : f32[B,T,768]
//   %z = reshape %y : f32[B,T,768]         =>    %z = add %x', %bias'
//   %g = gelu %z                                 %g = gelu %z
//
// Axes that elementwise operations, broadcasts, transposes, reductions, gathers, slices and concats iterate
// over together form one class (axis_relations.h). A reshape that only splits, joins, adds or drops axes
// specifies which classes consist of others. Each class is then split everywhere and axes of one element are
// dropped everywhere, so that both sides of the reshape have the same axes. Reshapes move to the borders of
// such operations: leaves, matmuls, attention, outputs. A matmul whose result has a split axis adopts the
// split as letters if the operand that has the axis comes from such a border, because the reshape there then
// meets its inverse, which simplify removes.
//
// These axes are not split: reduced axes of rows, columns of random numbers, axes that a slice, concat,
// gather or iota indexes, keys and values that an attention gathers from a table, and axes of the
// graph's inputs, outputs and states. A reshape that would split one of these remains. A reshape between
// nodes that no kernel computes together also remains, for instance between a matmul and its user, unless it
// keeps the last axis. Values stay the same.
#pragma once

#include "ir/graph/graph.h"

namespace smelt {

struct RefineAxesOptions {};
bool refine_axes(Graph& graph, const RefineAxesOptions& options);

}  // namespace smelt
