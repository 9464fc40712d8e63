#include "passes/graph/fusion/cheap_nodes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

namespace smelt {
namespace {

bool updates_parameters(const Graph& graph) {
  return llvm::any_of(graph.nodes(), [&](const auto& node) {
    if (!node->is(Op::update)) return false;
    const State* state = graph.module().find_state(node->get(attr::state));
    return !state || state->role == Role::parameter;
  });
}

}  // namespace

CheapNodes::CheapNodes(const Graph& graph) {
  for (const auto& node : graph.nodes())
    if (depends_on_nothing(*node)) from_nothing_.insert(node.get());
  if (updates_parameters(graph)) return;
  for (const auto& node : graph.nodes())
    if (is_number_of_parameters(*node)) of_parameters_.insert(node.get());
}

bool CheapNodes::is_number_of_parameters(const Node& node) const {
  if (!node.is(Op::pointwise) && !node.is(Op::convert)) return false;
  return element_count(node.result()->shape()).is_one() &&
         llvm::all_of(node.operands(), [this](const Value* operand) {
           const Node* made = operand->node();
           return made->is(Op::parameter) || is_from_nothing(*made) || of_parameters_.contains(made);
         });
}

bool CheapNodes::depends_on_nothing(const Node& node) const {
  if (node.is(Op::constant)) return !node.has(attr::values);
  if (node.is(Op::iota) || node.is(Op::random)) return true;
  if (!node.is(Op::pointwise) && !node.is(Op::convert) && !node.is(Op::broadcast)) return false;
  return llvm::all_of(node.operands(),
                      [this](const Value* operand) { return is_from_nothing(*operand->node()); });
}

namespace {

/// The value is stored by inserts alone, perhaps rounded first.
bool is_only_inserted(const Value& value) {
  return !value.users().empty() && llvm::all_of(value.users(), [&](const Node* user) {
    if (user->is(Op::convert)) return user->operands().size() == 1 && is_only_inserted(*user->result());
    return user->is(Op::insert) && llvm::count(user->operands(), &value) == 1 && user->operand(1) == &value;
  });
}

}  // namespace

bool CheapNodes::is_turned_for_insert(const Node& node) {
  return node.is(Op::transpose) && !node.graph().is_output(node.result()) && is_only_inserted(*node.result());
}

void split_cheap_nodes(Graph& graph) {
  const CheapNodes cheap(graph);
  std::vector<Node*> nodes;
  for (const auto& node : llvm::reverse(graph.nodes()))
    if (cheap.contains(*node)) nodes.push_back(node.get());
  for (Node* node : nodes) {
    Value* value = node->result();
    bool first = !graph.is_output(value);
    const llvm::SmallVector<Node*, 4> users(value->users().begin(), value->users().end());
    const llvm::SetVector<Node*> unique(users.begin(), users.end());
    for (Node* user : unique)
      for (unsigned i = 0; i < user->operands().size(); ++i) {
        if (user->operand(i) != value) continue;
        if (!std::exchange(first, false))
          user->set_operand(i, graph.clone(*node, node->operands(), node)->result());
      }
  }
}

}  // namespace smelt
