#include "passes/graph/sharding/sums.h"

#include <map>
#include <optional>
#include <tuple>

#include "ir/graph/builder.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/expressions.h"
#include "passes/graph/simplify/simplify_rules.h"

namespace smelt {
namespace {

/// Key of sums over ranks that can be one: kind, axis and dim; an all_reduce has no dim.
using SumOverRanks = std::tuple<std::string, std::string, int64_t>;
using Group = std::vector<Node*>;
using Groups = std::map<SumOverRanks, Group>;

std::optional<SumOverRanks> sum_over_ranks(const Node& node) {
  if (!node.is(Op::collective) || (node.has(attr::sum) && node.get(attr::sum) != "add")) return std::nullopt;
  const std::string& kind = node.get(attr::kind);
  if (kind != "all_reduce" && kind != "reduce_scatter") return std::nullopt;
  return SumOverRanks{kind, node.get(attr::mesh_axis), node.has(attr::dim) ? node.get(attr::dim) : -1};
}

bool is_float_add(const Node& node) { return node.is(ScalarOp::add) && is_float(node.result()->dtype()); }

/// An add whose result only another add of its phase reads: no root of a tree.
bool is_inner(const Node& add) {
  if (!has_one_use(*add.result())) return false;
  const Node& user = *add.result()->users()[0];
  return is_float_add(user) && user.phase == add.phase;
}

void collect(const Node& add, Groups& groups) {
  for (const Value* operand : add.operands()) {
    Node& term = *operand->node();
    if (!has_one_use(*operand) || term.phase != add.phase) continue;
    if (is_float_add(term))
      collect(term, groups);
    else if (const auto sum = sum_over_ranks(term))
      groups[*sum].push_back(&term);
  }
}

using Positions = llvm::DenseMap<const Node*, size_t>;

/// The add that reads the term becomes its other operand.
void take_out(Graph& graph, Node& term) {
  Node* add = term.result()->users()[0];
  Value* other = add->operand(add->operand(0) == term.result() ? 1 : 0);
  if (other->name.empty()) other->name = add->result()->name;
  graph.replace_all_uses(add->result(), other);
  graph.erase(add);
  graph.erase(&term);
}

/// Joins the sums: the last one sums the total; each add is placed where both of its operands are known.
void join_group(Graph& graph, const Group& sums) {
  Value* all = sums.front()->operand(0);
  for (Node* sum : llvm::drop_begin(sums)) {
    GraphBuilder b(graph, sum);
    b.set_source(sum->source);
    Value* addend = sum->operand(0);
    all = b.add(all, addend);
    all->sharding = addend->sharding;
    inherit_marks(*sum, *all->node());
  }
  sums.back()->set_operand(0, all);
  for (Node* sum : llvm::drop_end(sums)) take_out(graph, *sum);
}

}  // namespace

bool reassociate_sums(Graph& graph, const ReassociateSumsOptions&) {
  Positions at;
  std::vector<Groups> trees;
  for (const auto& node : graph.nodes()) {
    at[node.get()] = at.size();
    if (is_float_add(*node) && !is_inner(*node)) collect(*node, trees.emplace_back());
  }
  bool changed = false;
  for (Groups& groups : trees)
    for (auto& [sum, group] : groups) {
      if (group.size() < 2) continue;
      llvm::sort(group, [&](const Node* a, const Node* b) { return at.lookup(a) < at.lookup(b); });
      join_group(graph, group);
      changed = true;
    }
  return changed;
}

}  // namespace smelt
