// Merges the backward matmuls that remain if a graph was differentiated before its forward matmuls were
// merged.
#include <algorithm>
#include <optional>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/expressions.h"
#include "passes/graph/fusion/gemm_members.h"
#include "passes/graph/simplify/simplify_rules.h"

namespace smelt {
namespace {

// ---- dx = sum_i g_i w_i

/// The terms of a sum: what single-use adds below `root` add up.
void collect_terms(Value* value, std::vector<Value*>& terms, bool root) {
  if (value->node()->is(ScalarOp::add) && (root || has_one_use(*value))) {
    for (Value* operand : value->node()->operands()) collect_terms(operand, terms, false);
  } else {
    terms.push_back(value);
  }
}

bool is_inner_add(const Node& node) {
  const Value* value = node.result();
  return has_one_use(*value) && value->users()[0]->is(ScalarOp::add);
}

/// A matmul that sums over the first letter of a parameter, letters named after the result's.
std::optional<Member> summing_member(Value* term) {
  if (!is_product(*term->node()) || !has_one_use(*term)) return std::nullopt;
  const MatmulSpec plain = parse_matmul_spec(term->node()->get(attr::spec));
  const MatmulSpec spec = renamed(plain, plain.out);
  for (unsigned side : {0u, 1u}) {
    Member member{term->node(), side, spec};
    if (!parameter_name(member.stacked()).empty() && !has(spec.out, member.stacked_letters()[0]))
      return member;
  }
  return std::nullopt;
}

Value* merged_sum(GraphBuilder& b, Members members, const Stack& stack) {
  order_like(members, stack);
  const Member& head = members[0];
  const char letter = head.stacked_letters()[0];
  const std::string& letters = head.side == 0 ? head.letters.b : head.letters.a;
  llvm::SmallVector<Value*, 4> others;
  for (const Member& member : members) others.push_back(member.other());
  Value* operands[2];
  operands[head.side] = build_stack(b, stack);
  operands[1 - head.side] = b.concat(others, static_cast<int64_t>(letters.find(letter)));
  return b.matmul(operands[0], operands[1], head.node->get(attr::spec));
}

bool merge_sum(Graph& graph, Node* root) {
  std::vector<Value*> terms;
  collect_terms(root->result(), terms, true);
  llvm::MapVector<std::pair<Value*, size_t>, Members> groups;
  std::map<std::string, size_t> keys;
  for (Value* term : terms)
    if (auto member = summing_member(term)) {
      const size_t key = keys.try_emplace(common_key(*member, 0), keys.size()).first->second;
      groups[{nullptr, key}].push_back(*member);
    }
  for (auto& [key, members] : groups) {
    if (members.size() < 2 || !recorded(graph.module(), names_of(members))) continue;
    const auto stack = stackable(graph.module(), names_of(members));
    if (!stack) continue;
    GraphBuilder b(graph, root);
    b.set_source(members[0].node->source);
    const InheritMarks marks(graph, root, *root);
    Value* sum = merged_sum(b, members, *stack);
    for (Value* term : terms)
      if (llvm::none_of(members, [&](const Member& m) { return m.node->result() == term; }))
        sum = b.add(sum, term);
    graph.replace_all_uses(root->result(), sum);
    return true;
  }
  return false;
}

}  // namespace

bool merge_sums(Graph& graph) {
  std::vector<Node*> roots;
  for (const auto& node : graph.nodes())
    if (node->is(ScalarOp::add) && !is_inner_add(*node)) roots.push_back(node.get());
  bool changed = false;
  for (Node* root : roots) changed |= merge_sum(graph, root);
  return changed;
}

// ---- dw_i = g_i^T x

namespace {

/// The matmuls of concat's operands with one other value in one role, one an operand; empty where there are
/// none.
Members users_of_parts(const Node& concat) {
  const int64_t axis = concat.get(attr::axis);
  auto fits = [&](const Member& m, const Value* part) {
    if (m.stacked() != part) return false;
    const char letter = m.stacked_letters()[static_cast<size_t>(axis)];
    return !has(m.side == 0 ? m.letters.b : m.letters.a, letter);
  };
  auto members_of = [&](const Value* part) {
    Members members;
    for (Node* user : part->users())
      if (is_product(*user))
        for (unsigned side : {0u, 1u})
          if (const Member m = member_of(user, side); fits(m, part)) members.push_back(m);
    return members;
  };
  for (const Member& head : members_of(concat.operand(0))) {
    Members all;
    for (const Value* part : concat.operands())
      for (const Member& m : members_of(part))
        if (m.other() == head.other() && common_key(m, axis) == common_key(head, axis)) {
          all.push_back(m);
          break;
        }
    if (all.size() == concat.operands().size()) return all;
  }
  return {};
}

using Positions = llvm::DenseMap<const Node*, int64_t>;

Positions positions(const Graph& graph) {
  Positions result;
  for (const auto& node : graph.nodes()) result[node.get()] = static_cast<int64_t>(result.size());
  return result;
}

/// The first reader of any member; null where none reads them. Nothing may read a member before `concat`
/// stands.
Node* first_reader(const Members& members, const Positions& at) {
  Node* first = nullptr;
  for (const Member& member : members)
    for (Node* user : member.node->result()->users())
      if (!first || at.lookup(user) < at.lookup(first)) first = user;
  return first;
}

bool merge_parts(Graph& graph, Node* concat) {
  const Members members = users_of_parts(*concat);
  if (members.size() < 2) return false;
  const Positions at = positions(graph);
  Node* place = first_reader(members, at);
  const Member& head = members[0];
  const int64_t ready = std::max(at.lookup(concat), at.lookup(head.other()->node()));
  if (place && at.lookup(place) <= ready) return false;
  const char letter = head.stacked_letters()[static_cast<size_t>(concat->get(attr::axis))];
  GraphBuilder b(graph, place);
  std::vector<Node*> nodes;
  for (const Member& member : members) nodes.push_back(member.node);
  b.set_source(joined_source(nodes));
  Value* operands[2];
  operands[head.side] = concat->result();
  operands[1 - head.side] = head.other();
  Value* whole = b.matmul(operands[0], operands[1], head.node->get(attr::spec));
  inherit_marks(*head.node, *whole->node());
  replace_by_slices(graph, b, whole, static_cast<int64_t>(head.letters.out.find(letter)), nodes);
  return true;
}

}  // namespace

bool merge_matmuls_of_parts(Graph& graph) {
  std::vector<Node*> concats;
  for (const auto& node : graph.nodes())
    if (node->is(Op::concat)) concats.push_back(node.get());
  bool changed = false;
  for (Node* concat : concats) changed |= merge_parts(graph, concat);
  return changed;
}

}  // namespace smelt
