// An update at an index becomes one of the whole state, whose value is the old content with a part put in:
//
//   update %v, %i {state = "s", axis = 2}     %old = state "s"; %new = insert %old, %v, %i {axis = 2}
//                                             update %new {state = "s"}
//
// Several updates of one state put their parts in one after the other. assign_layout lets the insert happen
// in the state's own memory (passes/memory/overwrites.h). A part of decompose.
#pragma once

#include "ir/graph.h"

namespace smelt {

/// True if there were any.
bool decompose_updates(Graph& graph);

}  // namespace smelt
