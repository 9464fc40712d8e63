// Assignments of all nodes of a graph, which are not those of each node alone: a value that several nodes
// read moves once for all of them.
#pragma once

#include "passes/sharding/assignment.h"

namespace smelt {

/// Each node as it moves the fewest bytes, given what has moved for others of its phase (partition gathers in
/// backward again what it has gathered in forward). Where a value is put together along an axis for all its
/// readers, if that costs less than what each of them would move for itself. `known` says how a node's
/// operands and results lie; pointers in it stay valid meanwhile.
Assignments assign_nodes(const Graph& graph, llvm::function_ref<KnownShardings(const Node&)> known);

}  // namespace smelt
