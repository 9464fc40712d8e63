// Functions that find nodes and outputs in a graph of build_transformer.
#pragma once

#include "ir/graph/graph.h"
#include "tests/frontend/support.h"

namespace smelt::testing {

/// Returns all nodes with this operation.
inline std::vector<Node*> all(const Graph& graph, Op op) {
  std::vector<Node*> nodes;
  for (const auto& node : graph.nodes())
    if (node->is(op)) nodes.push_back(node.get());
  return nodes;
}

/// Returns the first node with this operation and this source name; if there is none, fails the test and
/// returns null.
inline Node* from(const Graph& graph, Op op, std::string_view source) {
  for (Node* node : all(graph, op))
    if (node->source == source) return node;
  ADD_FAILURE() << "no " << name(op) << " from " << source;
  return nullptr;
}

inline Value* output(const Graph& graph, std::string_view name) {
  for (const Graph::Output& output : graph.outputs)
    if (output.name == name) return output.value;
  ADD_FAILURE() << "no output " << name;
  return nullptr;
}

inline const Graph& graph_of(const Module& module, std::string_view name) { return *module.find_graph(name); }

}  // namespace smelt::testing
