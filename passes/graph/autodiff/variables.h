// Variables of differentiation and the nodes through which derivatives pass, for both modes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/graph/graph.h"

namespace smelt {

/// Parameter or input with its type and all nodes that read it.
struct Variable {
  std::string name;
  Type type;
  std::vector<Value*> values;
};

/// Finds variables by name; without names, all float parameters of the module. Throws Error for a name that
/// is neither a parameter nor an input, and for integers.
std::vector<Variable> find_variables(const Graph& graph, const std::vector<std::string>& names);
/// Returns whether derivatives pass through the node; comparisons, stop_gradient and the like stop them.
bool passes_derivatives(const Node& node);

}  // namespace smelt
