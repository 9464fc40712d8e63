// merge_gemms: several matmuls that share an operand become one, over weights that lie one after another.
//
//   y_i = x w_i           ->  Y = x concat(w_i), y_i = slices of Y; equal bias adds move onto Y
//   dx = sum_i g_i w_i    ->  dx = concat(g_i) concat(w_i)
//   dw_i = g_i^T x        ->  dW = concat(g_i)^T x, dw_i = slices of dW, where that concat of g_i exists
//
// The w_i (and biases) are parameters stacked along their first dim, so that their concat is a view: the
// names go to Module::adjacent, which flatten_parameters honours. Once the parameters are flat, only weights
// that already follow each other are merged. Contract: values stay the same up to the order of the sums over
// i; a matmul is merged whatever it belongs to (three projections of attention, all layers' projections of
// one encoder output).
#pragma once

#include "ir/graph.h"

namespace smelt {

struct MergeGemmsOptions {};
bool merge_gemms(Graph& graph, const MergeGemmsOptions& options);

}  // namespace smelt
