#include "passes/graph/simplify/simplify.h"

#include <vector>

namespace smelt {

bool drop_stops(Graph& graph, const DropStopsOptions&) {
  std::vector<Node*> stops;
  for (const auto& node : graph.nodes())
    if (node->is(Op::stop_gradient)) stops.push_back(node.get());
  for (Node* stop : stops) {
    graph.replace_all_uses(stop->result(), stop->operand(0));
    graph.erase(stop);
  }
  return !stops.empty();
}

}  // namespace smelt
