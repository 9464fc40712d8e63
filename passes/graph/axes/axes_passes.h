// Passes that move elementwise computations into an attention or before a concat, and remove repeated heads.
// In the examples, B is the batch size and T the number of tokens.
#pragma once

#include "ir/graph/builder.h"
#include "ir/graph/graph.h"

namespace smelt {

// ---- sink_masks.cpp
// sink_masks: moves the computation of a mask into the body of an attention. The mask must be computed
// elementwise from values of fewer axes, or from positions alone.
//
//   %seen = logical_and (le %s, %t), %mask : bool[B,T,T]       attention ... (%score, %a = %mask) {
//   attention ... (%score, %a = %seen) { ... }             =>    %seen = ...
//                                                              }
//
// Here %t and %s are the positions of queries and keys, which the body computes itself. After the rewrite no
// mask of T x T elements is in memory. Values stay the same.

struct SinkMasksOptions {};
bool sink_masks(Graph& graph, const SinkMasksOptions& options);

// ---- sink_concats.cpp
// sink_concats: moves elementwise operations on a concat to its parts, so that the concat comes after them.
//
//   %c = concat (neg %high), %low {axis = 3}
//   %y = add (mul %x, %cos), (mul %c, %sin)
//                      =>  %y = concat (sub (mul %low, %cos_low), (mul %high, %sin_low)),
//                                      (add (mul %high, %cos_high), (mul %low, %sin_high))
//
// Here %low and %high are slices of %x: a rotary embedding becomes one kernel that reads %x and writes each
// half directly to its position in the result. The rewrite applies only if it saves memory or work. All
// readers of the concat must be elementwise. Also, either each part of the concat is computed elementwise
// from slices along the concat's axis, or all parts are the same value. Other operands, such as %cos, are
// sliced to match each part (%cos_low, %cos_high). Values stay the same.

struct SinkConcatsOptions {};
bool sink_concats(Graph& graph, const SinkConcatsOptions& options);

// ---- group_query_heads.cpp
// group_query_heads: removes the repetition of key and value heads before an attention, which then reads each
// of them once for a group of query heads (grouped-query attention).
//
//   %r = broadcast %k {axes = [0, 1, 3, 4]} : f32[B,2,3,T,64]
//   %h = reshape %r : f32[B,6,T,64]
//   %t = transpose %h {permutation = [0, 2, 1, 3]}
//   attention %q, %t, ...
//     =>
//   %t = transpose %k {permutation = [0, 2, 1, 3]}
//   attention %q, %t, ...
//
// The pattern is a broadcast along a new axis directly after the head axis, and a reshape that joins the two
// axes. There may be transposes after the reshape. Keys and values must have the same number of heads before
// the repetition. Results do not change, because an attention with G query heads per key head maps query head
// h to key head h / G.

struct GroupQueryHeadsOptions {};
bool group_query_heads(Graph& graph, const GroupQueryHeadsOptions& options);

// ---- elementwise operations
// A test for elementwise operations, and copies of them with other operands.

/// Returns whether the node is elementwise: a pointwise operation, or a conversion with one operand. All
/// operands then have the result's shape.
inline bool works_on_elements(const Node& node) {
  return node.is(Op::pointwise) || (node.is(Op::convert) && node.operands().size() == 1);
}

/// Builds the elementwise operation of `node` on other operands.
inline Value* on_operands(GraphBuilder& b, const Node& node, llvm::ArrayRef<Value*> operands) {
  if (node.is(Op::convert)) return b.convert(operands[0], node.result()->dtype());
  return b.pointwise(node.scalar_op, operands);
}

}  // namespace smelt
