// A graph as a picture: text for Graphviz.
#pragma once

#include <string>

#include "ir/graph.h"

namespace smelt {

/// Fusions are boxes that list their operations, matrix products stand out, parameters are small; edges carry
/// types; nodes are grouped by layer, read from their source names ("h.3.attention" belongs to "h.3").
std::string dot(const Graph& graph);

}  // namespace smelt
