// Passes that merge matmuls, and that let a matmul accumulate in the memory of a state.
#pragma once

#include "ir/graph/graph.h"

namespace smelt {

// ---- merge_gemms.cpp
// merge_gemms: merges matmuls that share an operand into one, over weights that are adjacent in memory.
//
//   y_i = x w_i^T         ->  Y = x concat(w_i)^T, y_i = slices of Y
//   dx = sum_i g_i w_i    ->  dx = concat(g_i) concat(w_i)
//   dw_i = g_i^T x        ->  dW = concat(g_i)^T x, dw_i = slices of dW
//
// The shapes are x, dx [rows, in], w_i, dw_i [out_i, in] and y_i, g_i [rows, out_i]; the concats are along
// the dims out_i. If the only reader of each y_i is the addition of a bias, the stacked biases are added to Y
// instead, and so are other operations that all y_i have in common (member_links.h). The last rule applies
// only if the graph already has the concat of the g_i.
//
// The w_i and the biases are parameters that are stacked along their first dim. The pass adds their names to
// Module::adjacent, and flatten_parameters then places them one after another, so that their concat is a
// view. If the parameters are flat already, only adjacent weights are merged. Examples are the three
// projections of an attention, and the projections of one encoder output in all layers of a decoder. Ensures:
// values differ only by the order of the sums over i.

struct MergeGemmsOptions {};
bool merge_gemms(Graph& graph, const MergeGemmsOptions& options);

// ---- accumulate_gemms.cpp
// accumulate_gemms: moves an addition into the epilogue of a matmul. The matmul's result must be added to a
// state or a part of a state, and the sum must be written back there. The matmul then accumulates in the
// state's memory.
//
//   %y = matmul %a, %b                      %y = matmul %a, %b (%acc, %c = %s) { return add %acc, %c }
//   %z = add %s, %y    (%s = state "s")  =>  update %y {state = "s"}
//   update %z {state = "s"}
//
// The library call of the new matmul has beta = 1: it adds the product to the old content of the result's
// memory. The product itself is neither stored nor rounded before the addition. The pass applies if no other
// node reads the matmul's result, and only updates of the same state read the sum. Runs after fuse and before
// assign_precision. Ensures: values differ only because the product is not rounded.

struct AccumulateGemmsOptions {};
bool accumulate_gemms(Graph& graph, const AccumulateGemmsOptions& options = {});

}  // namespace smelt
