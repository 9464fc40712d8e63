// Decomposition of an update at an index into an update of the whole state, whose value is the old content
// with a part inserted:
//
//   update %v, %i {state = "s", axis = 2}     %old = state "s"; %new = insert %old, %v, %i {axis = 2}
//                                             update %new {state = "s"}
//
// Several updates of one state insert their parts one after another. assign_layout lets the insert write in
// the state's own memory (passes/graph/layout/overwrites.h). decompose calls this function.
#pragma once

#include "ir/graph/graph.h"

namespace smelt {

/// Decomposes such updates; returns whether there were any.
bool decompose_updates(Graph& graph);

}  // namespace smelt
