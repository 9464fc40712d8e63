#include "passes/graph/simplify/simplify.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "passes/analysis.h"
#include "passes/expressions.h"

namespace smelt {
namespace {

bool is_at_index(const Node& update) { return update.operands().size() > 1; }

Value* inserted(Graph& graph, Node& update, Value* content) {
  GraphBuilder b(graph, &update);
  b.set_source(update.source);
  const InheritMarks marks(graph, &update, update);
  if (!content) content = b.state(update.get(attr::state));
  llvm::SmallVector<Value*, 5> operands = {content};
  llvm::append_range(operands, update.operands());
  Attributes places = update.attributes;
  places.remove(attr::state);
  return b.create(Op::insert, operands, std::move(places))->result();
}

/// `updates` are all those of one state, in program order.
void replace(Graph& graph, llvm::ArrayRef<Node*> updates) {
  Value* content = nullptr;
  for (Node* update : updates)
    content = is_at_index(*update) ? inserted(graph, *update, content) : update->operand(0);
  Node* last = updates.back();
  GraphBuilder b(graph, last);
  b.set_source(last->source);
  inherit_marks(*last, *b.update(last->get(attr::state), content));
  for (Node* update : updates) graph.erase(update);
}

}  // namespace

bool decompose_updates(Graph& graph) {
  llvm::MapVector<llvm::StringRef, llvm::SmallVector<Node*, 2>> by_state;
  for (Node* update : nodes_of(graph, Op::update)) by_state[update->get(attr::state)].push_back(update);
  bool changed = false;
  for (const auto& [state, updates] : by_state) {
    if (llvm::none_of(updates, [](const Node* update) { return is_at_index(*update); })) continue;
    replace(graph, updates);
    changed = true;
  }
  return changed;
}

}  // namespace smelt
