#include "passes/graph/fusion/merge_gemms.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/expressions.h"
#include "passes/graph/fusion/gemm_members.h"
#include "passes/graph/fusion/member_links.h"

namespace smelt {
namespace {

std::vector<Node*> matmuls(const Graph& graph) {
  std::vector<Node*> nodes;
  for (const auto& node : graph.nodes())
    if (is_product(*node)) nodes.push_back(node.get());
  return nodes;
}

using Groups = llvm::MapVector<std::pair<Value*, size_t>, Members>;  // by shared operand and key

/// Frozen and trained parameters are never neighbours.
bool is_frozen(Module& module, const Member& member) {
  return module.find_parameter(parameter_name(member.stacked()))->frozen;
}

/// Weights with a free first letter: parameters whose results can be stacked.
Groups sharing_groups(const Graph& graph) {
  Groups groups;
  std::map<std::string, size_t> keys;
  for (Node* node : matmuls(graph))
    for (unsigned side : {0u, 1u}) {
      const Member member = member_of(node, side);
      if (parameter_name(member.stacked()).empty()) continue;
      const char letter = member.stacked_letters()[0];
      if (has(side == 0 ? member.letters.b : member.letters.a, letter)) continue;
      std::string text = common_key(member, 0) + (is_frozen(graph.module(), member) ? "|frozen" : "");
      const size_t key = keys.try_emplace(std::move(text), keys.size()).first->second;
      groups[{member.other(), key}].push_back(member);
    }
  return groups;
}

/// Returns the first node in program order.
Node* first_of(const Graph& graph, const Members& members) {
  for (const auto& node : graph.nodes())
    if (llvm::any_of(members, [&](const Member& m) { return m.node == node.get(); })) return node.get();
  return nullptr;
}

void merge_sharing(Graph& graph, Members members, const Stack& stack) {
  Node* place = first_of(graph, members);
  order_like(members, stack);
  const Member& head = members[0];
  const int64_t axis = static_cast<int64_t>(head.letters.out.find(head.stacked_letters()[0]));
  const std::vector<Link> links = links_of(graph, members, axis, place);
  GraphBuilder b(graph, place);
  const InheritMarks marks(graph, place, *head.node);
  std::vector<Node*> nodes;
  for (const Member& member : members) nodes.push_back(member.node);
  b.set_source(joined_source(nodes));
  record(graph.module(), stack);
  Value* weights = build_stack(b, stack);
  Value* operands[2];
  operands[head.side] = weights;
  operands[1 - head.side] = head.other();
  Value* whole = b.matmul(operands[0], operands[1], head.node->get(attr::spec));
  for (const Link& each : links) whole = link(b, each, whole);
  replace_by_slices(graph, b, whole, axis, links.empty() ? nodes : links.back().nodes);
}

/// Returns members that can be stacked: all of a group, or the longest runs that are adjacent.
std::vector<std::pair<Members, Stack>> stackable_runs(Module& module, const Members& members) {
  std::vector<std::pair<Members, Stack>> runs;
  if (auto stack = stackable(module, names_of(members))) return {{members, *stack}};
  for (size_t begin = 0; begin < members.size();) {
    size_t end = begin + 1;
    std::optional<Stack> stack;
    for (size_t size = members.size() - begin; size > 1 && !stack; --size) {
      const Members run(members.begin() + begin, members.begin() + begin + size);
      stack = stackable(module, names_of(run));
      if (stack) runs.push_back({run, *stack}), end = begin + size;
    }
    begin = end;
  }
  return runs;
}

bool merge_forward(Graph& graph) {
  bool changed = false;
  for (auto& [key, members] : sharing_groups(graph)) {
    if (members.size() < 2) continue;
    for (auto& [run, stack] : stackable_runs(graph.module(), members)) {
      merge_sharing(graph, run, stack);
      changed = true;
    }
  }
  return changed;
}

}  // namespace

bool merge_gemms(Graph& graph, const MergeGemmsOptions&) {
  bool changed = merge_forward(graph);
  changed |= merge_sums(graph);
  changed |= merge_matmuls_of_parts(graph);
  if (changed) graph.prune();
  return changed;
}

}  // namespace smelt
