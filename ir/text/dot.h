// A graph as a picture: text for Graphviz.
#pragma once

#include <string>

#include "ir/graph.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace smelt {

/// Fusions are boxes that list their operations, matmuls stand out, parameters are small; edges carry types;
/// nodes are grouped by layer. With `is_drawn` only those nodes are drawn, and in pale what they read from
/// and what reads them, because Graphviz takes minutes for the training step of a large model.
std::string dot(const Graph& graph, llvm::function_ref<bool(const Node&)> is_drawn = nullptr);

/// "h.3" of a node with the source "h.3.attention.softmax": up to the first number; empty where there is
/// none.
std::string layer_of(const Node& node);
/// The layer to show as an example: the middle one of those in the graph. Empty where there are no layers.
std::string typical_layer(const Graph& graph);

}  // namespace smelt
