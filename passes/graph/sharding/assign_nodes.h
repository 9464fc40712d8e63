// Assignment of mesh axes to all nodes of a graph together, because one move of a value to another sharding
// can serve several readers.
#pragma once

#include "passes/graph/sharding/assignment.h"

namespace smelt {

/// Returns for each node the mesh axes along which ranks divide its work (assignment.h), chosen so that the
/// fewest bytes move between ranks. If several nodes of one phase (forward, backward or update) need the same
/// move, it counts once. Moves are not shared between phases. A value is gathered along an axis for all its
/// readers of a phase if that costs less than their separate moves. `known` returns the shardings of a node's
/// operands and results; its pointers must stay valid during the call, and those of operands must not be
/// null.
Assignments assign_nodes(const Graph& graph, llvm::function_ref<KnownShardings(const Node&)> known);

}  // namespace smelt
