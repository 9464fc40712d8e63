// Finds what build_transformer has made.
#pragma once

#include "ir/graph/graph.h"
#include "tests/frontend/support.h"

namespace smelt::testing {

inline std::vector<Node*> all(const Graph& graph, Op op) {
  std::vector<Node*> nodes;
  for (const auto& node : graph.nodes())
    if (node->is(op)) nodes.push_back(node.get());
  return nodes;
}

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
