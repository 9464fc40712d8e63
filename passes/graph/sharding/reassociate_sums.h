// reassociate_sums: adds addends on each rank before they are summed over ranks, not after.
//
//   sum(a) + sum(b)            ->  sum(a + b)
//   (x + sum(a)) + sum(b)      ->  x + sum(a + b)
//
// Here sum is all_reduce or reduce_scatter by add, over one axis and into one dim. The gradients of three
// projections towards their common operand then cost one collective, and merge_gemms merges their matmuls.
// The additions form one tree whose inner values have no other reader; a convert ends a tree, so that a value
// that is rounded before an addition stays rounded. Runs after partition and before join_sums and
// merge_gemms. Ensures: values differ only by the order of float additions.
#pragma once

#include "ir/graph/graph.h"

namespace smelt {

struct ReassociateSumsOptions {};
bool reassociate_sums(Graph& graph, const ReassociateSumsOptions& options);

}  // namespace smelt
