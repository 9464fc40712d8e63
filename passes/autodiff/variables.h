// The variables that a graph is differentiated by, and the nodes through which derivatives pass; for both
// modes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace smelt {

/// A parameter or an input: all nodes that read it, and its type.
struct Variable {
  std::string name;
  Type type;
  std::vector<Value*> values;
};

/// Finds them by name; without names, all float parameters of the module. Throws Error for a name that is
/// neither, and for integers.
std::vector<Variable> find_variables(const Graph& graph, const std::vector<std::string>& names);
/// "a+b" as it stands in a pipeline.
std::vector<std::string> split_names(std::string_view text);
/// Whether derivatives pass through the node; comparisons, stop_gradient and the like stop them.
bool passes_derivatives(const Node& node);

}  // namespace smelt
