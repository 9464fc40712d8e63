// Texts of the IR.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "ir/graph/graph.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace smelt {

// ---- modules
// Text form of a module: print and parse are inverse to each other.

std::string print(const Module& module);
std::string print(const Graph& graph);
/// Returns one line of the text form (several for a fusion), without indentation; for messages and logs.
std::string print(const Node& node);

/// Parses a module. Throws Error with file name, line, column, the line and a caret under the position.
std::unique_ptr<Module> parse_module(std::string_view text, std::string_view file = "<text>");

// ---- dot.cpp
// Drawing of a graph: text for Graphviz.

/// Returns the drawing. Fusions are boxes that list their operations, matmuls are emphasised, parameters are
/// small; edges show types; nodes are grouped by layer. With `is_drawn` only those nodes are drawn, and pale
/// their operands and users, because Graphviz takes minutes for the training step of a large model.
std::string dot(const Graph& graph, llvm::function_ref<bool(const Node&)> is_drawn = nullptr);

/// Returns the layer of a node: "h.3" for the source "h.3.attention.softmax", up to the first number; empty
/// if there is none.
std::string layer_of(const Node& node);
/// Returns the layer to show as an example: the middle one of the graph. Empty if there are no layers.
std::string typical_layer(const Graph& graph);

// ---- json.cpp
// Graphs as JSON, for other programs to read.

/// {"name", "nodes": [{"op", "reduce"?, "source"?, "operands": ["%1"], "results": [{"name", "type", "dtype",
/// "shape"}],
///  "attributes": {}, "body"?: {a graph}}], "outputs": [{"name", "value"}]}
std::string json(const Graph& graph);
/// {"symbols": [{"factors", "upper"}], "parameters": [...], "states": [...], "graphs": [...]}
std::string json(const Module& module);

// ---- operations_page.cpp
// Reference page of operations and attributes, from ir/ops/ops.def, ir/ops/attributes.def,
// ir/ops/scalar_ops.def and ir/ops/reduce_ops.def.

/// Returns all operations with their attributes, in Markdown: docs/operations.md, printed by `smelt opt
/// --list-operations`.
std::string operations_page();

}  // namespace smelt
