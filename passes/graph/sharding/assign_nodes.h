// Assignment of mesh axes to all nodes of a graph together, because one move of a value can serve several
// readers.
#pragma once

#include "passes/graph/sharding/assignment.h"

namespace smelt {

/// Assigns each node so that it moves the fewest bytes, given the moves for other nodes of its phase
/// (partition gathers again in backward the values that it has gathered in forward). A value is gathered
/// along an axis for all its readers if that costs less than their separate moves. `known` returns the
/// shardings of a node's operands and results; its pointers must stay valid during the call.
Assignments assign_nodes(const Graph& graph, llvm::function_ref<KnownShardings(const Node&)> known);

}  // namespace smelt
