#include "ir/analysis/reading_order.h"

#include "llvm/ADT/SmallPtrSet.h"

namespace smelt {
namespace {

class Order {
 public:
  /// Without recursion: a body may be one long chain.
  void add(const Node& last) {
    if (!seen_.insert(&last).second) return;
    llvm::SmallVector<std::pair<const Node*, unsigned>> open = {
        {&last, 0}};  // with the next operand to visit
    while (!open.empty()) {
      auto& [node, next] = open.back();
      if (next == node->operands().size()) {
        nodes.push_back(node);
        open.pop_back();
      } else if (const Node* operand = node->operand(next++)->node(); seen_.insert(operand).second) {
        open.emplace_back(operand, 0);
      }
    }
  }

  llvm::SmallVector<const Node*> nodes;

 private:
  llvm::SmallPtrSet<const Node*, 32> seen_;
};

}  // namespace

llvm::SmallVector<const Node*> reading_order(const Graph& body) {
  Order order;
  for (const Node* input : body.inputs()) order.add(*input);
  for (const Graph::Output& output : body.outputs) order.add(*output.value->node());
  for (const auto& node : body.nodes()) order.add(*node);
  return std::move(order.nodes);
}

}  // namespace smelt
