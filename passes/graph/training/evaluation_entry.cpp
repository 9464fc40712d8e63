#include "passes/graph/training/evaluation_entry.h"

#include "llvm/ADT/STLExtras.h"

namespace smelt {
namespace {

constexpr const char* kEvaluate = "evaluate";

/// Returns whether random numbers decide the value.
bool is_random(const Value* value) {
  const Node& node = *value->node();
  return node.is(Op::random) || llvm::any_of(node.operands(), is_random);
}

/// An attention's body without the factor of the weight, where that is a dropout.
void drop_factor(Node& attention) {
  if (!attention.body || attention.body->outputs.size() < 2) return;
  if (!is_random(attention.body->outputs[1].value)) return;
  attention.body->outputs.pop_back();
  attention.body->prune();
}

void drop_dropouts(Graph& graph) {
  for (const auto& node : graph.nodes()) {
    if (node->is(Op::dropout)) graph.replace_all_uses(node->result(), node->operand(0));
    if (node->is(Op::attention)) drop_factor(*node);
  }
  graph.prune();
}

/// Removes updates: evaluation changes nothing that training keeps of a batch, such as the mean of a batch
/// norm.
void drop_updates(Graph& graph) {
  llvm::SmallVector<Node*> updates;
  for (const auto& node : graph.nodes())
    if (node->is(Op::update)) updates.push_back(node.get());
  for (Node* update : updates) graph.erase(update);
  graph.prune();
}

}  // namespace

bool make_evaluation_entry(Module& module, const MakeEvaluationEntryOptions& options) {
  const Graph* graph = module.find_graph(options.loss);
  if (!graph || module.find_graph(kEvaluate)) return false;
  module.graphs.push_back(graph->clone_into(module, kEvaluate));
  drop_dropouts(*module.graphs.back());
  drop_updates(*module.graphs.back());
  return true;
}

}  // namespace smelt
