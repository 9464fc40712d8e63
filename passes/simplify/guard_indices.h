// guard_indices: no gather reads, and no insert writes, outside of its table, whatever numbers it is given,
// and no index that is no row goes unnoticed.
//
//   %y = gather %t, %i        i in [0, rows) for certain: stays as it is (see ir/analysis/index_ranges.h)
//                             outside for certain: Error with the node and the index
//                             otherwise: %y = gather %t, min(max(%i, 0), rows - 1), and
//                             update "index_fault/@graph gather \"source\"" of three numbers: the lowest
//                             index below 0 (or 0), the highest from rows on (or 0), and rows - 1
//   %y = gather iota, %i      one that only checks its indices: %y = %i, guarded as above
//
// The state keeps what earlier runs left in it: executors look at it when a run's results are copied out,
// throw an Error and make it zeros (runtime/index_faults.h). Indices with the same bound share a guard.
// A scatter_add or scatter leaves such an index out, as its indices are sorted: it keeps them and has the
// update alone, of a state "dropped_index/@graph scatter_add \"source\"", where no gather has one for them.
// One with the attribute leaves_out is given indices of other ranks' rows, too, and has none. An insert
// leaves out what has a negative index: one that is too large becomes -1, and is noted there, too. Contract:
// runs once, when no later pass adds or removes gathers; values change only where an index was out of bounds.
#pragma once

#include "ir/graph.h"

namespace smelt {

struct GuardIndicesOptions {};
bool guard_indices(Graph& graph, const GuardIndicesOptions& options);

}  // namespace smelt
