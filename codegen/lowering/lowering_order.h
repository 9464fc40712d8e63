// The order in which a graph's nodes become steps: the program's, except that who writes a state's memory
// comes after all who read its old content there.
#pragma once

#include <vector>

#include "ir/graph/graph.h"

namespace smelt {

/// Requires: assign_layout has run. Throws Error (internal) that names two nodes which wait for each other.
std::vector<const Node*> lowering_order(const Graph& graph);

}  // namespace smelt
