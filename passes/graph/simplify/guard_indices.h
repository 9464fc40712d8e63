// guard_indices: bounds the indices of gathers and inserts, so that none reads or writes outside its table,
// and records every invalid index.
//
//   %y = gather %t, %i        i certainly in [0, rows): stays as it is (see ir/analysis/index_ranges.h)
//                             certainly outside: Error with the node and the index
//                             otherwise: %y = gather %t, min(max(%i, 0), rows - 1), and
//                             update "index_fault/@graph gather \"source\"" of three numbers: the lowest
//                             index below 0 (or 0), the highest index >= rows (or 0), and rows - 1
//   %y = gather iota, %i      one that only checks its indices: %y = %i, guarded as above
//
// The state keeps the values of earlier runs. Executors check it when they copy out the results of a run,
// throw an Error and reset it to zeros (runtime/session/index_faults.h). Indices with the same bound share a
// guard. A scatter_add or scatter ignores an invalid index, because its indices are sorted: it keeps its
// indices and gets only the update, of a state "dropped_index/@graph scatter_add \"source\"", unless a gather
// already has an update for them. A scatter with the attribute leaves_out also gets indices of other ranks'
// rows, so it has no update. An insert ignores negative indices: an index that is too large becomes -1 and is
// recorded in the state as well. Runs once, when no later pass adds or removes gathers. Ensures: values
// change only where an index was out of bounds.
#pragma once

#include "ir/graph/graph.h"

namespace smelt {

struct GuardIndicesOptions {};
bool guard_indices(Graph& graph, const GuardIndicesOptions& options);

}  // namespace smelt
