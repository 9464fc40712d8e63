// Matmuls that become one.
#pragma once

#include "ir/graph/graph.h"

namespace smelt {

// ---- merge_gemms.cpp
// merge_gemms: merges matmuls that share an operand into one, over weights that are adjacent in memory.
//
//   y_i = x w_i           ->  Y = x concat(w_i), y_i = slices of Y; equal bias adds move onto Y
//   dx = sum_i g_i w_i    ->  dx = concat(g_i) concat(w_i)
//   dw_i = g_i^T x        ->  dW = concat(g_i)^T x, dw_i = slices of dW, where that concat of g_i exists
//
// The w_i (and biases) are parameters stacked along their first dim, so that their concat is a view: their
// names go to Module::adjacent, which flatten_parameters follows. If the parameters are flat already, only
// adjacent weights are merged. The rewrite depends on no particular model: it applies to three projections of
// attention as well as to all layers' projections of one encoder output. Ensures: values differ only by the
// order of the sums over i.

struct MergeGemmsOptions {};
bool merge_gemms(Graph& graph, const MergeGemmsOptions& options);

// ---- accumulate_gemms.cpp
// accumulate_gemms: a matmul whose result is added to a part of a state, and written back there, accumulates
// in the state's memory itself.
//
//   %y = matmul %a, %b                      %y = matmul %a, %b (%acc, %c = %s) { return add %acc, %c }
//   %z = add %s, %y                   =>    update %y {state = "s"}, where %s = state "s"
//   update %z {state = "s"}
//
// The library call of the new matmul has beta = 1. The product is neither stored nor rounded before it is
// added. A chain of matmuls that accumulate one product (chunk_rows) starts with the state. It applies if no
// other node reads the matmul and the sum goes only into an update of the same state. Runs after fuse and
// before assign_precision. Ensures: values differ only by that rounding.

struct AccumulateGemmsOptions {};
bool accumulate_gemms(Graph& graph, const AccumulateGemmsOptions& options = {});

}  // namespace smelt
