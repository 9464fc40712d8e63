// Drawing of a graph: text for Graphviz.
#pragma once

#include <string>

#include "ir/graph/graph.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace smelt {

/// Returns the drawing. Fusions are boxes that list their operations, matmuls are emphasised, parameters are
/// small; edges show types; nodes are grouped by layer. With `is_drawn` only those nodes are drawn, and pale
/// their operands and users, because Graphviz takes minutes for the training step of a large model.
std::string dot(const Graph& graph, llvm::function_ref<bool(const Node&)> is_drawn = nullptr);

/// Returns the layer of a node: "h.3" for the source "h.3.attention.softmax", up to the first number; empty
/// if there is none.
std::string layer_of(const Node& node);
/// Returns the layer to show as an example: the middle one of the graph. Empty if there are no layers.
std::string typical_layer(const Graph& graph);

}  // namespace smelt
