#include "passes/graph/fusion/fuse.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ir/analysis/attention_form.h"
#include "ir/analysis/insert_checks.h"
#include "ir/analysis/iteration_space.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/graph/fusion/cheap_nodes.h"
#include "passes/graph/fusion/fusion_body.h"
#include "runtime/base/interrupt.h"

namespace smelt {
namespace {

/// Returns whether attentions follow the indices of a gather by themselves.
bool is_read_in_place(const Node& node, const FuseOptions& options) {
  if (!options.target || !node.is(Op::gather)) return false;
  if (node.result()->dtype() != options.storage &&
      !llvm::all_of(node.result()->users(), [](const Node* user) { return reads_codes(*user); }))
    return false;
  if (!options.target->can.attention_kernels) return is_read_in_table(node, TableQueries::any);
  const bool is_narrow = options.storage == DType::bf16 || options.storage == DType::f16;
  return options.target->attention == AttentionTemplates::measured &&
         is_read_in_table(node, is_narrow ? TableQueries::tile : TableQueries::few);
}

struct Group {
  std::vector<Node*> nodes;  // in program order
  Phase phase = Phase::forward;
};

/// Two groups that were refused, as they were then.
struct Refusal {
  int from, into;
  FuseReason reason;
  std::string detail;
};

class Fuser {
 public:
  /// Cheap nodes of the graph have been split.
  Fuser(Graph& graph, const FuseOptions& options) : graph_(graph), options_(options), cheap_(graph) {}

  bool run() {
    number_nodes();
    for (Node* node : order_)
      if (is_root(*node)) start_group(*node);
    for (Node* node : order_) {
      poll_interrupt();
      if (is_root(*node)) grow(*node);
    }
    for (Node* node : order_)
      if (is_root(*node) && node->is(Op::constant)) join_last_reader(*node);
    if (options_.report) report();
    return wrap_groups();
  }

 private:
  void number_nodes() {
    for (const auto& node : graph_.nodes()) {
      position_[node.get()] = static_cast<int>(order_.size());
      order_.push_back(node.get());
    }
  }

  bool is_cheap(const Node& node) const { return cheap_.contains(node); }

  bool is_fusable(const Node& node) const {
    const bool fits = info(node.op()).has(Trait::fusable) && !info(node.op()).has(Trait::view);
    return fits && !node.has(attr::values) && !is_read_in_place(node, options_);
  }

  /// Views that matmuls and other readers of memory take as they are.
  bool stays_view(const Node& broadcast) const {
    return broadcast.is(Op::broadcast) && llvm::none_of(broadcast.result()->users(), [&](const Node* user) {
             return computes_operands(*user);
           });
  }

  /// Returns whether the node is in a kernel's body, where cheap operands are recomputed.
  bool computes_operands(const Node& user) const {
    return is_fusable(user) || (is_cheap(user) && !stays_view(user));
  }

  /// A cheap node is computed where it is read, but for the table of a gather and what an insert writes
  /// into, which have to be in memory.
  bool is_inlined_into(const Value* value, const Node& user) const {
    if (user.is(Op::gather) && user.operand(0) == value) return false;
    if (user.is(Op::insert) && user.operand(0) == value) return false;
    return computes_operands(user);
  }

  /// Nodes that found a group; cheap nodes are inlined into their one reader if that is fusable.
  bool is_root(const Node& node) const {
    if (!is_cheap(node)) return is_fusable(node);
    if (stays_view(node)) return false;
    if (graph_.is_output(node.result())) return true;
    return llvm::none_of(node.result()->users(),
                         [&](const Node* user) { return is_inlined_into(node.result(), *user); });
  }

  void start_group(Node& node) {
    const int id = static_cast<int>(groups_.size());
    groups_.push_back({{}, node.phase});
    collect_inlined(node, id);
    llvm::sort(groups_[id].nodes, [&](Node* a, Node* b) { return position_[a] < position_[b]; });
  }

  void collect_inlined(Node& node, int id) {
    groups_[id].nodes.push_back(&node);
    group_of_[&node] = id;
    for (Value* operand : node.operands())
      if (is_cheap(*operand->node()) && is_inlined_into(operand, node) && !graph_.is_output(operand) &&
          !group_of_.contains(operand->node()))
        collect_inlined(*operand->node(), id);
  }

  /// Joins the group of `node` with those of its producers, then with readers of the same values that stand
  /// before.
  void grow(Node& node) {
    now_ = position_[&node];
    for (int other : producers(node)) try_merge(other, group_of_[&node]);
    for (int other : siblings(node)) try_merge(other, group_of_[&node]);
  }

  /// Values that the node and its inlined producers read from outside.
  std::vector<Value*> read_values(const Node& node) const {
    std::vector<Value*> values;
    for (Value* operand : node.operands()) {
      const bool inlined = is_cheap(*operand->node()) && group_of_.contains(operand->node());
      if (!inlined)
        values.push_back(operand);
      else
        llvm::append_range(values, read_values(*operand->node()));
    }
    return values;
  }

  std::vector<int> producers(const Node& node) const {
    std::vector<Value*> values = read_values(node);
    llvm::stable_sort(values, [](Value* a, Value* b) { return a->rank() > b->rank(); });
    std::vector<int> result;
    for (Value* value : values)
      if (auto it = group_of_.find(value->node()); it != group_of_.end()) result.push_back(it->second);
    return result;
  }

  std::vector<int> siblings(const Node& node) const {
    std::vector<int> result;
    for (Value* value : read_values(node)) {
      if (value->shape() != node.operand(0)->shape()) continue;  // a row value or a weight is no reason
      for (Node* user : value->users()) {
        auto it = group_of_.find(user);
        if (it != group_of_.end() && stands_before(current(it->second))) result.push_back(it->second);
      }
    }
    llvm::sort(result, std::greater<>());
    result.erase(std::unique(result.begin(), result.end()), result.end());
    return result;
  }

  /// Returns whether the whole group is before the current node. A cheap node may be before it, and the group
  /// that it was inlined into after it: paths to that group are checked later (cycle_through).
  bool stands_before(int group) const { return position_.lookup(groups_[group].nodes.back()) < now_; }

  /// A number that becomes a state's content is written by the last kernel that reads the old one.
  void join_last_reader(Node& number) {
    now_ = static_cast<int>(order_.size());
    const std::vector<Node*> readers = readers_of_old(number);
    for (Node* reader : llvm::reverse(readers)) {
      const auto group = group_of_.find(reader);
      if (group == group_of_.end()) continue;
      try_merge(group_of_[&number], group->second);
      if (current(group_of_[&number]) == current(group->second)) return;
    }
  }

  /// The readers of the states that the number replaces, in program order.
  std::vector<Node*> readers_of_old(const Node& number) const {
    std::vector<Node*> readers;
    const auto is_replaced = [&](const Node& state) {
      return llvm::any_of(number.result()->users(), [&](const Node* user) {
        return user->is(Op::update) && user->get(attr::state) == state.get(attr::name);
      });
    };
    for (Node* node : order_)
      if (node->is(Op::state) && is_replaced(*node)) llvm::append_range(readers, node->result()->users());
    llvm::sort(readers, [&](Node* a, Node* b) { return position_.lookup(a) < position_.lookup(b); });
    return readers;
  }

  void try_merge(int from, int into) {
    from = current(from), into = current(into);
    if (from == into) return;
    std::string detail;
    const FuseReason reason = judge(from, into, detail);
    if (reason == FuseReason::fused)
      merge(from, into);
    else if (options_.report)
      refused_.push_back({from, into, reason, detail});
  }

  /// Merged groups point to the group that took them.
  int current(int id) const {
    while (moved_.contains(id)) id = moved_.lookup(id);
    return id;
  }

  FuseReason judge(int from, int into, std::string& detail) {
    const Group &a = groups_[from], &b = groups_[into];
    if (a.phase != b.phase) {
      detail = fmt::format("{} and {} stay apart", name(a.phase), name(b.phase));
      return FuseReason::phase;
    }
    if (a.nodes.size() + b.nodes.size() > options_.max_nodes) {
      detail = fmt::format("{} operations, at most {}", a.nodes.size() + b.nodes.size(), options_.max_nodes);
      return FuseReason::size;
    }
    std::vector<const Node*> nodes(a.nodes.begin(), a.nodes.end());
    nodes.insert(nodes.end(), b.nodes.begin(), b.nodes.end());
    llvm::sort(nodes, [&](const Node* x, const Node* y) { return position_[x] < position_[y]; });
    return judge(nodes, detail);
  }

  FuseReason judge(llvm::ArrayRef<const Node*> nodes, std::string& detail) {
    const llvm::DenseSet<const Node*> members(nodes.begin(), nodes.end());
    const IterationSpaceResult result =
        iteration_space(nodes, [&](const Value* value) { return is_read_outside(value, members); });
    detail = result.reason;
    if (!result.space) return FuseReason::loop_nest;
    if (result.space->levels > options_.max_levels) {
      detail =
          fmt::format("{} sweeps over the columns, at most {}", result.space->levels, options_.max_levels);
      return FuseReason::sweeps;
    }
    if (is_single_long_row(*result.space, members)) {
      detail = fmt::format("one row of more than {} columns", options_.max_single_row);
      return FuseReason::single_row;
    }
    if (options_.updates_apart && sums_beside_update(members)) {
      detail = "an update that is to run in slices computes elements alone";
      return FuseReason::update;
    }
    const Node* outside = cycle_through(members);
    if (!outside) return FuseReason::fused;
    detail = fmt::format("a path leads through {} and back", outside->describe());
    return FuseReason::cycle;
  }

  bool is_read_outside(const Value* value, const llvm::DenseSet<const Node*>& members) const {
    return graph_.is_output(value) ||
           llvm::any_of(value->users(), [&](const Node* user) { return !members.contains(user); });
  }

  /// Sums, or single numbers that others read.
  bool sums_beside_update(const llvm::DenseSet<const Node*>& members) const {
    const auto updates = [&](const Node* user) {
      if (!user->is(Op::update)) return false;
      const State* state = graph_.module().find_state(user->get(attr::state));
      return state && (state->role == Role::parameter || state->role == Role::optimizer);
    };
    const auto writes = [&](const Node* node) {
      return llvm::any_of(node->results(),
                          [&](const auto& result) { return llvm::any_of(result->users(), updates); });
    };
    const auto is_number = [&](const Node* node) {
      return llvm::any_of(node->results(), [&](const auto& result) {
        return result->rank() == 0 && is_read_outside(result.get(), members);
      });
    };
    const auto stays = [&](const Node* node) { return node->is(Op::reduce) || is_number(node); };
    return llvm::any_of(members, stays) && llvm::any_of(members, writes);
  }

  /// Returns whether the kernel is one long row. A kernel without rows runs in parallel along its columns,
  /// unless an operation needs all columns, or a scalar that is no reduction is stored too.
  bool is_single_long_row(const IterationSpace& space, const llvm::DenseSet<const Node*>& members) const {
    if (space.count(AxisKind::parallel) != 0 || space.axes.empty()) return false;
    Dim columns = 1;
    for (const auto& axis : space.axes) columns *= axis.extent;
    if (graph_.module().symbols.upper(columns) <= options_.max_single_row) return false;
    return space.levels > 1 || llvm::any_of(members, [&](const Node* node) {
             return !space.reductions.contains(node) &&
                    llvm::any_of(node->results(), [&](const auto& result) {
                      return result->rank() == 0 && is_read_outside(result.get(), members);
                    });
           });
  }

  /// The node at which a path leaves the members, if one comes back to them. Nodes after the current one are
  /// still alone and lead nowhere before it, so the search stops there.
  const Node* cycle_through(const llvm::DenseSet<const Node*>& members) const {
    llvm::DenseMap<const Node*, const Node*> left_by;  // the first node outside on the way
    std::vector<const Node*> stack;
    const auto visit = [&](const Node* node, const Node* first) {
      if (position_.lookup(node) <= now_ && left_by.try_emplace(node, first).second) stack.push_back(node);
    };
    for (const Node* node : members)
      visit_users(*node, [&](const Node* user) {
        if (!members.contains(user)) visit(user, user);
      });
    while (!stack.empty()) {
      const Node* node = stack.back();
      stack.pop_back();
      const Node* first = left_by.lookup(node);
      if (members.contains(node)) return first;
      // Reaching one node of a group is reaching what any node of it feeds.
      const auto go_on = [&](const Node* user) { visit(user, first); };
      auto group = group_of_.find(node);
      if (group == group_of_.end()) {
        visit_users(*node, go_on);
      } else {
        for (const Node* fellow : groups_[current(group->second)].nodes) visit_users(*fellow, go_on);
      }
    }
    return nullptr;
  }

  template <typename F>
  static void visit_users(const Node& node, F visit) {
    for (const auto& result : node.results())
      for (const Node* user : result->users()) visit(user);
  }

  void merge(int from, int into) {
    for (Node* node : groups_[from].nodes) group_of_[node] = into;
    auto& nodes = groups_[into].nodes;
    nodes.insert(nodes.end(), groups_[from].nodes.begin(), groups_[from].nodes.end());
    llvm::sort(nodes, [&](Node* a, Node* b) { return position_[a] < position_[b]; });
    groups_[from].nodes.clear();
    moved_[from] = into;
  }

  /// Reports the kernels that fuse is going to make, and the pairs of them that were refused when last tried.
  void report() const {
    std::vector<std::vector<Node*>> kernels;
    std::vector<std::string> names;
    llvm::DenseMap<int, size_t> place;
    for (Node* node : order_) {
      const auto group = group_of_.find(node);
      if (group == group_of_.end() || groups_[group->second].nodes.back() != node) continue;
      place[group->second] = kernels.size();
      kernels.push_back(groups_[group->second].nodes);
      names.push_back(sources(groups_[group->second]));
    }
    std::vector<RefusedPair> pairs;
    for (const Refusal& refusal : refused_)
      if (current(refusal.from) != current(refusal.into))
        pairs.push_back({place.lookup(current(refusal.from)), place.lookup(current(refusal.into)),
                         refusal.reason, refusal.detail});
    report_fusion(graph_, kernels, names, pairs, *options_.report);
  }

  // ---- making the fusion nodes

  bool wrap_groups() {
    bool changed = false;
    for (Group& group : groups_) {
      if (group.nodes.empty()) continue;
      wrap(group);
      changed = true;
    }
    graph_.sort();
    return changed;
  }

  void wrap(const Group& group) {
    const llvm::DenseSet<const Node*> members(group.nodes.begin(), group.nodes.end());
    const std::vector<const Node*> nodes(group.nodes.begin(), group.nodes.end());
    const auto is_output = [&](const Value* value) { return is_read_outside(value, members); };
    const IterationSpaceResult result = iteration_space(nodes, is_output);
    FusionBody body(graph_.module());
    for (const Node* node : nodes) body.add(*node, *result.space, is_cheap(*node));
    llvm::SmallVector<Value*, 4> outputs;
    for (const Node* node : nodes)
      for (const auto& value : node->results())
        if (is_output(value.get())) outputs.push_back(value.get());
    const std::string source = sources(group);
    Node* fusion = body.finish(graph_, outputs, graph_.next(group.nodes.back()));
    fusion->source = source, fusion->phase = group.phase;
    for (Node* node : llvm::reverse(group.nodes)) graph_.erase(node);
  }

  std::string sources(const Group& group) const {
    std::vector<std::string> names;
    for (const Node* node : group.nodes)
      if (!cheap_.is_from_nothing(*node) && !node->source.empty() && !llvm::is_contained(names, node->source))
        names.push_back(node->source);
    if (names.empty()) names.push_back(group.nodes.back()->source);
    return fmt::format("{}", fmt::join(names, " + "));
  }

  Graph& graph_;
  const FuseOptions& options_;
  const CheapNodes cheap_;
  std::vector<Node*> order_;
  llvm::DenseMap<const Node*, int> position_;
  std::vector<Group> groups_;
  llvm::DenseMap<const Node*, int> group_of_;
  llvm::DenseMap<int, int> moved_;
  std::vector<Refusal> refused_;
  int now_ = 0;
};

/// Copies the value and the indices of an insert into x first, if they are a part of x.
void copy_parts_of_targets(Graph& graph) {
  for (const auto& node : graph.nodes()) {
    if (!node->is(Op::insert)) continue;
    for (const unsigned i : operands_in_target(*node)) {
      Value* part = node->operand(i);
      Node* copy = graph.create(Op::convert, {part}, {part->type}, node.get());
      copy->source = node->source, copy->phase = node->phase;
      node->set_operand(i, copy->result());
    }
  }
}

}  // namespace

bool fuse(Graph& graph, const FuseOptions& options) {
  copy_parts_of_targets(graph);
  split_cheap_nodes(graph);
  graph.prune();
  return Fuser(graph, options).run();
}

}  // namespace smelt
