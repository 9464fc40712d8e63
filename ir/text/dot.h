// A graph as a picture: text for Graphviz.
#pragma once

#include <string>

#include "ir/graph.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace smelt {

/// Fusions are boxes that list their operations, matmuls stand out, parameters are small; edges carry
/// types; nodes are grouped by layer. With `is_drawn` only those nodes, and pale what they read from and what
/// reads them: Graphviz takes minutes for the training step of a large model.
std::string dot(const Graph& graph, llvm::function_ref<bool(const Node&)> is_drawn = nullptr);

/// "h.3" of a node with the source "h.3.attention.softmax": up to the first number; nothing where there is
/// none.
std::string layer_of(const Node& node);
/// The layer to show for all: of those in the graph, in order, the one in the middle. Nothing where there are
/// no layers.
std::string typical_layer(const Graph& graph);

}  // namespace smelt
