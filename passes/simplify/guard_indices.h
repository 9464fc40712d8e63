// guard_indices: no gather reads outside of its table, whatever numbers it is given.
//
//   %y = gather %t, %i        i in [0, rows) for certain: stays as it is (see index_ranges.h)
//                             outside for certain: Error with the node and the index
//                             otherwise: %y = gather %t, min(max(%i, 0), rows - 1), and
//                             update "index_fault/@graph gather \"source\"" of three numbers: the lowest
//                             index below 0 (or 0), the highest from rows on (or 0), and rows - 1
//
// The state keeps what earlier runs left in it: executors look at it when a run's results are copied out,
// throw an Error and make it zeros (runtime/index_faults.h). Indices with the same bound share a guard.
// scatter_add needs none: its indices are sorted, and those outside are left out. Contract: runs once, when
// no later pass adds or removes gathers; values change only where an index was out of bounds.
#pragma once

#include "ir/graph.h"

namespace smelt {

struct GuardIndicesOptions {};
bool guard_indices(Graph& graph, const GuardIndicesOptions& options);

}  // namespace smelt
