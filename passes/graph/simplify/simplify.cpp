#include "passes/graph/simplify/simplify.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "passes/expressions.h"
#include "passes/graph/simplify/simplify_rules.h"

namespace smelt {
namespace {

/// Equal nodes have equal keys: op, operands, attributes, types, whatever their phases.
class Keys {
 public:
  std::string of(const Node& node) {
    std::string key;
    append(key, static_cast<int64_t>(node.op()));
    append(key, static_cast<int64_t>(node.scalar_op) * 64 + static_cast<int64_t>(node.reduce_op));
    for (const Value* operand : node.operands()) append(key, number(operand));
    for (const auto& [name, attribute] : node.attributes) append_key((key += name) += '=', attribute);
    if (info(node.op()).has(Trait::declared))  // the others' types follow from the rest
      for (const auto& result : node.results()) key += str(result->type);
    return key;
  }

 private:
  static void append(std::string& key, int64_t value) {
    key.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  int64_t number(const Value* value) {
    return numbers_.try_emplace(value, static_cast<int64_t>(numbers_.size())).first->second;
  }
  llvm::DenseMap<const Value*, int64_t> numbers_;
};

bool mergeable(const Node& node) {
  return !info(node.op()).has(Trait::effect) && !node.body && !node.is(Op::input) &&
         !node.is(Op::collective) && !node.anchored && node.result_count() > 0;
}

bool dead(const Node& node) {
  return llvm::all_of(node.results(), [&](const auto& result) {
    return result->users().empty() && !node.graph().is_output(result.get());
  });
}

class Sweep {
 public:
  explicit Sweep(Graph& graph) : graph_(graph) {}

  bool run() {
    bool changed = false;
    for (Node* node = graph_.nodes().empty() ? nullptr : graph_.nodes().front().get(); node;) {
      Node* next = graph_.next(node);
      if (!info(node->op()).has(Trait::effect) && !dead(*node)) changed |= visit(*node);
      node = next;
    }
    return graph_.prune() || changed;
  }

 private:
  bool visit(Node& node) {
    if (Value* value = rewritten(node)) {
      if (value->name.empty() && !value->node()->is(Op::input))
        value->name = std::exchange(node.result()->name, "");
      graph_.replace_all_uses(node.result(), value);
      return true;
    }
    return merged(node);
  }

  Value* rewritten(Node& node) {
    GraphBuilder builder(graph_, &node);
    builder.set_source(node.source);
    const InheritMarks marks(graph_, &node, node);
    for (SimplifyRule rule : simplify_rules(node.op()))
      if (Value* value = rule(builder, node); value && value != node.result()) return value;
    return nullptr;
  }

  bool merged(Node& node) {
    if (!mergeable(node)) return false;
    auto [it, fresh] = seen_.try_emplace(keys_.of(node), &node);
    if (fresh) return false;
    for (unsigned i = 0; i < node.result_count(); ++i)
      graph_.replace_all_uses(node.result(i), it->second->result(i));
    return true;
  }

  Graph& graph_;
  Keys keys_;
  llvm::StringMap<Node*> seen_;
};

}  // namespace

bool simplify(Graph& graph, const SimplifyOptions& options) {
  bool changed = false;
  for (int sweep = 0; sweep < options.max_sweeps; ++sweep) {
    if (!Sweep(graph).run()) break;
    changed = true;
  }
  return changed;
}

}  // namespace smelt
