// Verifier of graphs and modules. It checks SSA order, numbers of operands, attributes, layouts, shardings,
// updates and bodies. Types must follow the rules of ir/ops/ops.def, symbols must be declared and bounded,
// and uses of states and parameters must agree with their declarations.
#pragma once

#include <string>
#include <vector>

#include "ir/graph/graph.h"

namespace smelt {

/// Returns one message per fault, with the op, its origin in the model (Node::source), the types and the
/// bounds of symbols; empty if the graph is valid.
std::vector<std::string> verify(const Graph& graph);
/// Returns the faults of all graphs and declarations of a module.
std::vector<std::string> verify(const Module& module);
/// Throws one Error with all messages if the module is not valid.
void verify_or_throw(const Module& module);

}  // namespace smelt
