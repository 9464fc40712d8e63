// reassociate_sums: addends that ranks hold are added up before they are summed over ranks, not behind.
//
//   sum(a) + sum(b)            ->  sum(a + b)
//   (x + sum(a)) + sum(b)      ->  x + sum(a + b)
//
// where sum is all_reduce or reduce_scatter by add, over one axis and into one dim. The gradients of three
// projections towards what they read cost one collective then, and are matmuls whose sum merge_gemms makes
// one. The adds lie in one tree, which nothing else reads into; a convert ends a tree, so that what is
// rounded before it is added stays so. Contract: values stay the same but for the order in which floats are
// added. Runs after partition and before join_sums and merge_gemms.
#pragma once

#include "ir/graph.h"

namespace smelt {

struct ReassociateSumsOptions {};
bool reassociate_sums(Graph& graph, const ReassociateSumsOptions& options);

}  // namespace smelt
