// simplify: folds constants, merges equal nodes and applies algebraic rules, to a fixed point.
//
//   %a = mul %x, 1; %b = transpose (transpose %a)    =>    uses of %b read %x
//
// Rules are tables by op (simplify_rules.cpp): x+0, x*1, x-x, double negation, division by a power of two,
// select on a constant, chains of transposes, reshapes, broadcasts, converts and slices, slice of concat,
// concat of all slices of one value, gathers of consecutive rows, sums of broadcasts, adds into scatter_adds,
// transposes into a matmul's letters. x*0 becomes 0 only if x is certainly finite. Ensures: values stay the
// same up to exact arithmetic (no rounding is added); random ops with different ids and nodes with the
// attribute `anchor` are never merged; states are never reordered.
#pragma once

#include "ir/graph/graph.h"

namespace smelt {

struct SimplifyOptions {
  int max_sweeps = 16;
};
bool simplify(Graph& graph, const SimplifyOptions& options);

}  // namespace smelt
