// Checks a graph or module: SSA order, arity, attributes, types against ops.def's rules, symbols declared and
// bounded, states and parameters declared alike, updates of declared states, bodies.
#pragma once

#include <string>
#include <vector>

#include "ir/graph/graph.h"

namespace smelt {

/// Returns messages with the op, its source, the types and the symbols; empty if the graph is valid.
std::vector<std::string> verify(const Graph& graph);
std::vector<std::string> verify(const Module& module);
/// Throws Error with all messages.
void verify_or_throw(const Module& module);

}  // namespace smelt
