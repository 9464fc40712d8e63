// Graphs as JSON, for other programs to read.
#pragma once

#include <string>

#include "ir/graph/graph.h"

namespace smelt {

/// {"name", "nodes": [{"op", "reduce"?, "source"?, "operands": ["%1"], "results": [{"name", "type", "dtype",
/// "shape"}],
///  "attributes": {}, "body"?: {a graph}}], "outputs": [{"name", "value"}]}
std::string json(const Graph& graph);
/// {"symbols": [{"factors", "upper"}], "parameters": [...], "states": [...], "graphs": [...]}
std::string json(const Module& module);

}  // namespace smelt
