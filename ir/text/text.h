// Graph IR as text, as a Graphviz drawing and as JSON, and the reference page of its operations.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "ir/graph/graph.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace smelt {

// ---- modules
// Text form of a module. `parse_module` is the inverse of `print`.

std::string print(const Module& module);
std::string print(const Graph& graph);
/// Returns one line of the text form (several for a node with a body), without indentation, for messages and
/// logs.
std::string print(const Node& node);

/// Parses a module. Throws Error with the file name, line and column of a fault, and that line with a caret
/// under the column.
std::unique_ptr<Module> parse_module(std::string_view text, std::string_view file = "<text>");

// ---- dot.cpp
// Drawing of a graph: text for Graphviz.

/// Returns the drawing in the DOT language. Fusions are boxes that list their operations, matmuls are
/// emphasised, parameters are small, edges show types, and nodes are grouped by layer. `is_drawn` selects the
/// nodes to draw; their operands and users are drawn in pale colour. null: all nodes. Graphviz needs minutes
/// for the whole training step of a large model.
std::string dot(const Graph& graph, llvm::function_ref<bool(const Node&)> is_drawn = nullptr);

/// Returns the layer of a node: its source name up to the first part between dots that is a number. For the
/// source "h.3.attention.softmax" the layer is "h.3". Empty if no part is a number.
std::string layer_of(const Node& node);
/// Returns the middle layer of the graph, as an example of its layers. Empty if the graph has no layers.
std::string typical_layer(const Graph& graph);

// ---- json.cpp
// Graphs as JSON, for other programs to read.

/// Returns {"name", "nodes": [NODE, ...], "outputs": [{"name", "value"}]}. Each NODE is as follows; members
/// with a question mark may be absent.
/// {"op", "reduce"?, "source"?, "operands": ["%1"], "results": [{"name", "type", "dtype", "shape"}],
///  "attributes": {}, "body"?: {a graph}}
std::string json(const Graph& graph);
/// Returns {"symbols": [{"factors", "upper"}], "parameters": [...], "states": [...], "graphs": [...]}. The
/// product of the symbols `factors` is at most `upper`.
std::string json(const Module& module);

// ---- operations_page.cpp
// Reference page of operations and attributes, from ir/ops/ops.def, ir/ops/attributes.def,
// ir/ops/scalar_ops.def and ir/ops/reduce_ops.def.

/// Returns all operations with their attributes, in Markdown. `smelt opt --list-operations` prints this text;
/// docs/reference/operations.md contains it.
std::string operations_page();

}  // namespace smelt
