#include <algorithm>

#include "runtime/base/error.h"
#include "runtime/structured/state_builder.h"

namespace smelt::structured {
namespace {

constexpr size_t kMostNullableSteps = 200'000'000;

bool graph_is_nullable(const Graph& graph, const std::vector<bool>& nullable) {
  std::vector<bool> reached(graph.states);
  reached[0] = true;
  for (bool changed = true; changed;) {
    changed = false;
    for (const Graph::Edge& edge : graph.edges)
      if (reached[edge.from] && !reached[edge.to] && nullable[edge.label]) changed = reached[edge.to] = true;
  }
  for (uint32_t s = 0; s < graph.states; ++s)
    if (reached[s] && graph.accepts[s]) return true;
  return false;
}

bool is_nullable(const Grammar& grammar, const Node& node, const std::vector<bool>& nodes,
                 const std::vector<bool>& rules) {
  const auto is = [&](NodeId part) { return static_cast<bool>(nodes[part]); };
  switch (node.kind) {
    case NodeKind::empty:
      return true;
    case NodeKind::sequence:
      return std::all_of(node.parts.begin(), node.parts.end(), is);
    case NodeKind::choice:
      return std::any_of(node.parts.begin(), node.parts.end(), is);
    case NodeKind::repeat:
      return node.least == 0 || is(node.parts[0]);
    case NodeKind::rule:
      return rules[node.index];
    case NodeKind::graph:
      return graph_is_nullable(grammar.graph_of(node), nodes);
    default:
      return false;
  }
}

}  // namespace

std::vector<bool> nullable_nodes(const Grammar& grammar) {
  std::vector<bool> nodes(grammar.node_count()), rules(grammar.rules().size());
  size_t steps = 0;
  for (bool changed = true; changed;) {
    changed = false;
    steps += nodes.size();
    if (steps > kMostNullableSteps)
      fail("structured output: the rules of the grammar depend on each other in too long chains");
    for (NodeId id = 0; id < nodes.size(); ++id)
      nodes[id] = is_nullable(grammar, grammar.node(id), nodes, rules);
    for (RuleId rule = 0; rule < rules.size(); ++rule)
      if (!rules[rule] && nodes[grammar.rules()[rule].body]) changed = rules[rule] = true;
  }
  return nodes;
}

}  // namespace smelt::structured
