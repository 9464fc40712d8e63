#include "passes/training/evaluation_entry.h"

namespace smelt {
namespace {

constexpr const char* kEvaluate = "evaluate";

void drop_dropouts(Graph& graph) {
  for (const auto& node : graph.nodes()) {
    if (node->is(Op::dropout)) graph.replace_all_uses(node->result(), node->operand(0));
    if (node->is(Op::attention) && node->has("p")) node->attributes["p"] = 0.0;
  }
  graph.prune();
}

}  // namespace

bool make_evaluation_entry(Module& module, std::string_view loss) {
  const Graph* graph = module.find_graph(std::string(loss));
  if (!graph || module.find_graph(kEvaluate)) return false;
  module.graphs.push_back(graph->clone_into(module, kEvaluate));
  drop_dropouts(*module.graphs.back());
  return true;
}

}  // namespace smelt
