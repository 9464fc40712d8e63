#include "passes/graph/sharding/propagate_shardings.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/graph/sharding/assign_nodes.h"
#include "passes/graph/sharding/sums.h"
#include "passes/graph/sharding/written_shardings.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

class Propagation {
 public:
  explicit Propagation(Graph& graph) : graph_(graph), mesh_(graph.module().mesh()) {}

  void run() {
    for (const auto& node : graph_.nodes()) start(*node);
    follow_neighbours();
    if (cut_leaves()) follow_neighbours();
    assignments_ = assign_nodes(graph_, [&](const Node& node) { return known(node); });
    keep_partial_sums(graph_, assignments_, shardings_,
                      [&](const Value* v) { return fixed_.contains(v) && !v->node()->is(Op::state); });
  }

  bool write(std::vector<ShardingEntry>* log) {
    bool changed = false;
    for (const auto& node : graph_.nodes())
      for (const auto& result : node->results()) {
        const Sharding& sharding = shardings_.find(result.get())->second;
        changed |= result->sharding != sharding;
        result->sharding = sharding;
        if (log) log->push_back(entry(*result));
      }
    return changed;
  }

 private:
  void start(const Node& node) {
    for (const auto& result : node.results()) {
      auto written = written_sharding(*result);
      // Who reads addends may take their sum, all of it or a part.
      const bool adds = node.is(Op::state) && !written->partial.empty();
      if (adds) written->partial.clear();
      shardings_[result.get()] = written.value_or(replicated(result->rank()));
      if (written && !adds) fixed_.insert(result.get());
    }
    // A state that is cut cuts what is written to it.
    if (node.is(Op::update) && node.operands().size() == 1)
      extend(*node.operand(0), sharding_of_state(node), ShardingReason::from_users, node);
    if (node.is(Op::pack))
      for (unsigned i = 0; i < node.operands().size(); ++i)
        extend(*node.operand(i), sharding_of_segment(node, i), ShardingReason::from_users, node);
  }

  void follow_neighbours() {
    for (bool changed = true; changed;) {
      changed = false;
      for (const auto& node : graph_.nodes())
        if (is_due(*node, forwards_)) changed |= forward(*node);
      for (const auto& node : llvm::reverse(graph_.nodes()))
        if (is_due(*node, backwards_)) changed |= backward(*node);
    }
  }

  /// Returns whether a value of the node has changed since it was last asked: what a node says depends on
  /// them alone.
  bool is_due(const Node& node, llvm::DenseMap<const Node*, int64_t>& asked) {
    const auto changed_at = [&](const Value* value) { return changed_at_.lookup(value); };
    int64_t newest = 0;
    for (const Value* operand : node.operands()) newest = std::max(newest, changed_at(operand));
    for (const auto& result : node.results()) newest = std::max(newest, changed_at(result.get()));
    const auto [last, is_first] = asked.try_emplace(&node, clock_);
    if (!is_first && last->second >= newest) return false;
    last->second = clock_;
    return true;
  }

  // ---- leaves

  /// Shards leaves that no neighbour shards and whose length is that of the batch, such as the ones whose sum
  /// counts the records: ranks may have parts of different lengths.
  bool cut_leaves() {
    bool changed = false;
    for (const Node* input : graph_.inputs()) {
      const Value& batch = *input->result();
      const Sharding sharding = shardings_.find(&batch)->second;
      if (batch.rank() == 0 || batch.shape()[0].is_constant() || sharding.dims[0].empty()) continue;
      for (const auto& node : graph_.nodes())
        if (is_leaf(*node) && node->result()->rank() > 0 && node->result()->shape()[0] == batch.shape()[0])
          changed |= cut_leaf(*node->result(), sharding.dims[0], *input);
    }
    return changed;
  }

  static bool is_leaf(const Node& node) {
    return node.is(Op::constant) || node.is(Op::iota) ||
           (node.is(Op::broadcast) && node.operand(0)->rank() == 0);
  }

  /// Unless a user needs all of it.
  bool cut_leaf(const Value& value, const std::vector<size_t>& axes, const Node& input) {
    Sharding& own = shardings_.find(&value)->second;
    if (fixed_.contains(&value) || !own.is_replicated()) return false;
    own.dims[0] = axes;
    changed_at_[&value] = ++clock_;
    const bool fits =
        llvm::all_of(value.users(), [&](const Node* user) { return takes(*user, value, axes); });
    if (!fits) return own.dims[0].clear(), false;
    reasons_.try_emplace(&value, ShardingReason::batch, input.describe());
    return true;
  }

  bool takes(const Node& user, const Value& value, const std::vector<size_t>& axes) {
    if (user.is(Op::update)) return false;
    const Assignment made = assigned(user);
    for (unsigned i = 0; i < user.operands().size(); ++i)
      if (user.operand(i) == &value && made.operand(i).dims[0] != axes) return false;
    return true;
  }

  Assignment assigned(const Node& node) { return assigner_.assign(node, known(node)); }

  KnownShardings known(const Node& node) const {
    KnownShardings known;
    for (const Value* operand : node.operands()) known.operands.push_back(&shardings_.find(operand)->second);
    for (const auto& result : node.results()) known.results.push_back(known_result(*result));
    return known;
  }

  /// Returns the known sharding of a result; a result without one may have any.
  const Sharding* known_result(const Value& result) const {
    const Sharding& sharding = shardings_.find(&result)->second;
    return fixed_.contains(&result) || !sharding.is_replicated() ? &sharding : nullptr;
  }

  bool forward(const Node& node) {
    const Assignment made = assigned(node);
    bool changed = false;
    for (unsigned i = 0; i < node.result_count(); ++i)
      changed |= extend(*node.result(i), made.result(i), ShardingReason::from_operands, node);
    return changed;
  }

  bool backward(const Node& node) {
    const Assignment made = assigned(node);
    bool changed = false;
    for (unsigned i = 0; i < node.operands().size(); ++i)
      changed |= extend(*node.operand(i), made.operand(i), ShardingReason::from_users, node);
    return changed;
  }

  /// Dims that have no axes yet take those of `other`.
  bool extend(const Value& value, const Sharding& other, ShardingReason reason, const Node& by) {
    if (fixed_.contains(&value)) return false;
    Sharding& own = shardings_.find(&value)->second;
    bool changed = false;
    for (size_t i = 0; i < own.dims.size(); ++i) {
      const auto taken = [&](size_t axis) {
        return llvm::any_of(own.dims, [&](const auto& axes) { return llvm::is_contained(axes, axis); });
      };
      if (!own.dims[i].empty() || other.dims[i].empty() || llvm::any_of(other.dims[i], taken)) continue;
      if (!can_cut(value.shape()[i], parts_of(mesh_, other.dims[i]))) continue;
      own.dims[i] = other.dims[i];
      changed_at_[&value] = ++clock_;
      reasons_.try_emplace(&value, reason, by.describe());
      changed = true;
    }
    return changed;
  }

  ShardingEntry entry(const Value& value) const {
    const Sharding& sharding = shardings_.find(&value)->second;
    ShardingEntry entry{graph_.name,          value.node()->source,  value.name, str(value.type),
                        str(sharding, mesh_), ShardingReason::whole, {}};
    const auto why = reasons_.find(&value);
    if (fixed_.contains(&value))
      entry.reason = ShardingReason::written;
    else if (!sharding.partial.empty())
      entry.reason = ShardingReason::partial_sum, entry.because = value.node()->describe();
    else if (why != reasons_.end())
      entry.reason = why->second.first, entry.because = why->second.second;
    return entry;
  }

  Graph& graph_;
  const Mesh& mesh_;
  llvm::DenseMap<const Value*, Sharding> shardings_;
  llvm::DenseSet<const Value*> fixed_;
  llvm::DenseMap<const Value*, std::pair<ShardingReason, std::string>> reasons_;
  Assignments assignments_;
  int64_t clock_ = 0;  // of changes
  llvm::DenseMap<const Value*, int64_t> changed_at_;
  llvm::DenseMap<const Node*, int64_t> forwards_, backwards_;  // when each was last asked
  AxisAssigner assigner_;
};

constexpr std::string_view kReasons[] = {"as written",           "from its operands, by",
                                         "from its users, by",   "as long as the batch, of",
                                         "addends of a sum, by", "whole: no neighbour is cut as it could be"};

}  // namespace

std::string_view text(ShardingReason reason) { return kReasons[static_cast<size_t>(reason)]; }

std::string explain(const std::vector<ShardingEntry>& entries) {
  std::string lines;
  for (const ShardingEntry& e : entries)
    lines += fmt::format("@{} {} {} on {}: {}{}{}\n", e.graph,
                         e.value.empty() ? "\"" + e.source + "\"" : "%" + e.value, e.type, e.sharding,
                         text(e.reason), e.because.empty() ? "" : " ", e.because);
  return lines;
}

bool propagate_shardings(Graph& graph, const PropagateShardingsOptions& options) {
  const Module& module = graph.module();
  if (module.mesh().empty() || module.partitioned) return false;
  require_fitting_shardings(graph);
  Propagation propagation(graph);
  propagation.run();
  return propagation.write(options.log);
}

}  // namespace smelt
