#include "codegen/lowering/lower.h"

#include "ir/analysis/state_reads.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

using Nodes = std::vector<const Node*>;

/// For every node that writes memory of a state, the nodes that read the old content of that memory.
class StateReaders {
 public:
  explicit StateReaders(const Graph& graph) : module_(graph.module()) {
    for (size_t i = 0; i < module_.buffers.size(); ++i)
      if (const auto buffer = static_cast<int>(i); is_state(buffer))
        reads_[buffer] = reads_of_state(graph, buffer);
    for (const auto& node : graph.nodes()) add(*node);
  }

  llvm::ArrayRef<const Node*> of(const Node& writer) const {
    const auto found = readers_.find(&writer);
    if (found == readers_.end()) return {};
    return found->second;
  }

 private:
  bool is_state(int buffer) const { return module_.buffers[static_cast<size_t>(buffer)].state >= 0; }

  void add(const Node& node) {
    if (node.is(Op::fusion) || node.is(Op::matmul) || node.is(Op::attention) || node.is(Op::attention_grad) ||
        node.is(Op::scatter_add) || node.is(Op::scatter) || node.is(Op::pack) || node.is(Op::collective)) {
      for (const auto& value : node.results())
        if (value->layout && is_state(value->layout->buffer))
          add(node, value->layout->buffer, region_of(*value->layout, value->shape()));
    } else if (node.is(Op::update)) {
      const int buffer = module_.buffer_of(node.get(attr::state));
      if (buffer < 0) return;
      const Dim elements = module_.buffers[static_cast<size_t>(buffer)].elements;
      add(node, buffer, region_of({buffer, 0, {1}}, {elements}));
    }
  }

  void add(const Node& writer, int buffer, const Region& written) {
    for (const StateRead& read : reads_[buffer])
      if (overlap(read.region, written)) readers_[&writer].push_back(read.reader);
  }

  const Module& module_;
  llvm::DenseMap<int, std::vector<StateRead>> reads_;
  llvm::DenseMap<const Node*, Nodes> readers_;
};

class Ordering {
 public:
  explicit Ordering(const Graph& graph) : readers_(graph) {
    for (const auto& node : graph.nodes()) place(*node);
  }

  Nodes order;

 private:
  /// Places the nodes that a node waits for, then the node. Uses a stack instead of recursion, because chains
  /// are as long as a model is deep.
  void place(const Node& root) {
    stack_.push_back(&root);
    while (!stack_.empty()) {
      const Node* node = stack_.back();
      const size_t before = stack_.size();
      if (!placed_.contains(node)) need_all(*node);
      waiting_.insert(node);
      if (stack_.size() != before) continue;
      stack_.pop_back();
      waiting_.erase(node);
      if (placed_.insert(node).second) order.push_back(node);
    }
  }

  void need_all(const Node& node) {
    for (const Node* reader : llvm::reverse(readers_.of(node))) need(node, reader);
    for (const Value* operand : llvm::reverse(node.operands())) need(node, operand->node());
  }

  void need(const Node& node, const Node* other) {
    if (other == &node || placed_.contains(other)) return;
    if (waiting_.contains(other))
      fail_with(Status::internal, "{} and {} wait for each other", node.describe(), other->describe());
    stack_.push_back(other);
  }

  StateReaders readers_;
  llvm::DenseSet<const Node*> placed_, waiting_;  // `waiting_` finds circles, which would go on for ever
  Nodes stack_;
};

}  // namespace

Nodes lowering_order(const Graph& graph) { return Ordering(graph).order; }

}  // namespace smelt
