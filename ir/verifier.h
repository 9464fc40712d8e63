// Checks a graph or module: SSA order, arity, attributes, types against ops.def's rules, symbols declared and
// bounded, states and parameters declared alike, updates of declared states, bodies.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace smelt {

/// Messages name the op, its source, the types and the symbols; empty when all is well.
std::vector<std::string> verify(const Graph& graph);
std::vector<std::string> verify(const Module& module);
/// Throws Error with all messages.
void verify_or_throw(const Module& module);

}  // namespace smelt
