// guard_indices: bounds the indices of gathers and inserts, so that none reads or writes outside its table,
// and records every invalid index in a state.
//
//   %y = gather %t, %i        i certainly in [0, rows): stays as it is (see ir/analysis/index_ranges.h)
//                             certainly outside: Error with the node and the index
//                             otherwise: %y = gather %t, min(max(%i, 0), rows - 1), and
//                             an update of the state "index_fault/@graph gather \"source\"", which has
//                             three numbers: the lowest index below 0 (0: there was none), the highest
//                             index >= rows (0: there was none), and rows - 1
//   %y = gather iota, %i      only checks its indices: becomes %y = %i, guarded as above
//
// The three numbers also cover earlier runs. Executors check the state when they copy out the results of a
// run; if an index was invalid, they throw an Error and reset the state to zeros
// (runtime/session/index_faults.h). Gathers with the same indices and the same number of rows share a guard.
//
// A scatter_add or scatter omits invalid indices itself. So the pass does not change its indices, and adds
// only an update of a state, "dropped_index/@graph scatter_add \"source\"". There is no update if another
// node already records the same indices. There is none either if the scatter has the attribute leaves_out,
// because its indices outside the table belong to other ranks and are not errors. An insert omits negative
// indices. So the pass replaces an index that is too large by -1, and records it in a "dropped_index/" state.
//
// Runs once, when no later pass adds or removes gathers. Ensures: values change only where an index was out
// of bounds.
#pragma once

#include "ir/graph/graph.h"

namespace smelt {

struct GuardIndicesOptions {};
/// Guards the indices; returns whether anything changed.
bool guard_indices(Graph& graph, const GuardIndicesOptions& options);

}  // namespace smelt
