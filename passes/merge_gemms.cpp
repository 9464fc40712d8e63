#include "passes/merge_gemms.h"

#include <fmt/format.h>

#include <limits>

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/adjacency.h"
#include "passes/expressions.h"
#include "passes/simplify_rules.h"

namespace smelt {
namespace {

/// A matmul with one operand that is stacked with those of other matmuls.
struct Member {
  Node* node;
  unsigned side;       // of the operand that is stacked
  MatmulSpec letters;  // renamed, so that equal roles have equal letters
  Value* stacked() const { return node->operand(side); }
  Value* other() const { return node->operand(1 - side); }
  const std::string& stacked_letters() const { return side == 0 ? letters.a : letters.b; }
};

std::string mark(const Node& node, const char* name) {
  return node.has(name) ? str(node.attributes.find(name)->second) : "";
}

/// Renames letters in the order of their first place in `first`, then in the operands.
MatmulSpec renamed(const MatmulSpec& spec, const std::string& first) {
  std::string seen;
  for (char letter : first + spec.a + spec.b)
    if (seen.find(letter) == std::string::npos) seen += letter;
  auto rename = [&](const std::string& letters) {
    std::string result;
    for (char letter : letters) result += static_cast<char>('a' + seen.find(letter));
    return result;
  };
  return {rename(spec.a), rename(spec.b), rename(spec.out)};
}

/// What members of one merge have in common: roles of letters, marks, and all dims but the stacked one.
std::string common_key(const Member& member, int64_t axis) {
  Shape shape = member.stacked()->shape();
  shape.erase(shape.begin() + axis);
  return fmt::format("{}|{}|{}|{}|{}|{}", member.letters.str(), member.side, str(shape),
                     name(member.stacked()->dtype()), mark(*member.node, "phase"),
                     mark(*member.node, "anchor"));
}

bool has(const std::string& letters, char letter) { return letters.find(letter) != std::string::npos; }

std::vector<Node*> matmuls(const Graph& graph) {
  std::vector<Node*> nodes;
  for (const auto& node : graph.nodes())
    if (node->is(Op::matmul)) nodes.push_back(node.get());
  return nodes;
}

/// The member with its stacked operand at `side`, letters named after `first_operand`'s.
Member member_of(Node* node, unsigned side) {
  const MatmulSpec spec = parse_matmul_spec(node->string_attr("spec"));
  return {node, side, renamed(spec, side == 0 ? spec.b : spec.a)};
}

// ---- y_i = x w_i

using Members = std::vector<Member>;
using Groups = llvm::MapVector<std::pair<Value*, size_t>, Members>;  // by shared operand and key

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
      const size_t key = keys.try_emplace(common_key(member, 0), keys.size()).first->second;
      groups[{member.other(), key}].push_back(member);
    }
  return groups;
}

Stack names_of(const Members& members) {
  Stack names;
  for (const Member& member : members) names.push_back(parameter_name(member.stacked()));
  return names;
}

void order_like(Members& members, const Stack& stack) {
  auto place = [&](const Member& m) { return llvm::find(stack, parameter_name(m.stacked())); };
  llvm::sort(members, [&](const Member& l, const Member& r) { return place(l) < place(r); });
}

/// The add of a bias parameter along `axis` that alone reads `value`; else null.
Node* bias_add(const Value* value, int64_t axis) {
  if (!only_use(value) || !value->users()[0]->is(ScalarOp::add)) return nullptr;
  Node* add = value->users()[0];
  if (add->operand(0) == add->operand(1)) return nullptr;
  const Node* broadcast = add->operand(add->operand(0) == value ? 1 : 0)->node();
  if (!broadcast->is(Op::broadcast) || parameter_name(broadcast->operand(0)).empty()) return nullptr;
  return broadcast->ints_attr("axes") == std::vector<int64_t>{axis} ? add : nullptr;
}

std::string bias_name(const Node& add) {
  for (Value* operand : add.operands())
    if (operand->node()->is(Op::broadcast) && operand->node()->operand(0)->node()->is(Op::parameter))
      return parameter_name(operand->node()->operand(0));
  return "";
}

/// What the slices of the merged result stand for: the members' results, or their bias adds where all have
/// one.
struct Targets {
  std::vector<Node*> nodes;
  Stack biases;
};

Targets targets_of(Module& module, const Members& members, int64_t axis) {
  Targets plain, biased;
  for (const Member& member : members) {
    plain.nodes.push_back(member.node);
    Node* add = bias_add(member.node->result(), axis);
    if (!add || mark(*add, "phase") != mark(*member.node, "phase")) continue;
    biased.nodes.push_back(add);
    biased.biases.push_back(bias_name(*add));
  }
  if (biased.nodes.size() != members.size()) return plain;
  const auto stack = stackable(module, biased.biases);
  return stack && *stack == biased.biases ? biased : plain;
}

void replace_by_slices(Graph& graph, GraphBuilder& b, Value* whole, int64_t axis,
                       llvm::ArrayRef<Node*> parts) {
  Dim begin = 0;
  for (Node* part : parts) {
    const Dim length = part->result()->shape()[axis];
    b.set_source(part->source);
    Value* slice = b.slice(whole, axis, begin, length);
    inherit_marks(*part, *slice->node());
    graph.replace_all_uses(part->result(), slice);
    begin += length;
  }
}

std::string joined_source(llvm::ArrayRef<Node*> nodes) {
  std::string source;
  for (const Node* node : nodes)
    if (source.find(node->source) == std::string::npos)
      source += (source.empty() ? "" : " + ") + node->source;
  return source;
}

/// The node that stands first.
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
  const Targets targets = targets_of(graph.module(), members, axis);
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
  Value* whole = b.matmul(operands[0], operands[1], head.node->string_attr("spec"));
  if (!targets.biases.empty()) {
    record(graph.module(), targets.biases);
    whole = b.add(whole, b.broadcast(build_stack(b, targets.biases), {axis}, whole->shape()));
  }
  replace_by_slices(graph, b, whole, axis, targets.nodes);
}

/// Members that can be stacked: all of a group, else the longest runs that lie one after another.
std::vector<std::pair<Members, Stack>> stackable_runs(Module& module, const Members& members) {
  std::vector<std::pair<Members, Stack>> runs;
  if (auto stack = stackable(module, names_of(members))) return {{members, *stack}};
  for (size_t begin = 0; begin < members.size();) {
    size_t end = begin + 1;
    std::optional<Stack> stack;
    for (size_t size = members.size() - begin; size > 1 && !stack; --size) {
      const Members run(members.begin() + begin, members.begin() + begin + size);
      if ((stack = stackable(module, names_of(run)))) runs.push_back({run, *stack}), end = begin + size;
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

// ---- dx = sum_i g_i w_i

/// The terms of a sum: what single-use adds below `root` add up.
void collect_terms(Value* value, std::vector<Value*>& terms, bool root) {
  if (value->node()->is(ScalarOp::add) && (root || only_use(value))) {
    for (Value* operand : value->node()->operands()) collect_terms(operand, terms, false);
  } else {
    terms.push_back(value);
  }
}

bool is_inner_add(const Node& node) {
  const Value* value = node.result();
  return only_use(value) && value->users()[0]->is(ScalarOp::add);
}

/// A matmul that sums over the first letter of a parameter, letters named after the result's.
std::optional<Member> summing_member(Value* term) {
  if (!term->node()->is(Op::matmul) || !only_use(term)) return std::nullopt;
  const MatmulSpec plain = parse_matmul_spec(term->node()->string_attr("spec"));
  const MatmulSpec spec = renamed(plain, plain.out);
  for (unsigned side : {0u, 1u}) {
    const Member member{term->node(), side, spec};
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
  return b.matmul(operands[0], operands[1], head.node->string_attr("spec"));
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

bool merge_sums(Graph& graph) {
  std::vector<Node*> roots;
  for (const auto& node : graph.nodes())
    if (node->is(ScalarOp::add) && !is_inner_add(*node)) roots.push_back(node.get());
  bool changed = false;
  for (Node* root : roots) changed |= merge_sum(graph, root);
  return changed;
}

// ---- dw_i = g_i^T x

/// The matmuls of concat's operands with one other value in one role, one an operand; empty where there are
/// none.
Members users_of_parts(const Node& concat) {
  const int64_t axis = concat.int_attr("axis");
  auto fits = [&](const Member& m, const Value* part) {
    if (m.stacked() != part) return false;
    const char letter = m.stacked_letters()[static_cast<size_t>(axis)];
    return !has(m.side == 0 ? m.letters.b : m.letters.a, letter);
  };
  auto members_of = [&](const Value* part) {
    Members members;
    for (Node* user : part->users())
      if (user->is(Op::matmul))
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
  const char letter = head.stacked_letters()[static_cast<size_t>(concat->int_attr("axis"))];
  GraphBuilder b(graph, place);
  std::vector<Node*> nodes;
  for (const Member& member : members) nodes.push_back(member.node);
  b.set_source(joined_source(nodes));
  Value* operands[2];
  operands[head.side] = concat->result();
  operands[1 - head.side] = head.other();
  Value* whole = b.matmul(operands[0], operands[1], head.node->string_attr("spec"));
  inherit_marks(*head.node, *whole->node());
  replace_by_slices(graph, b, whole, static_cast<int64_t>(head.letters.out.find(letter)), nodes);
  return true;
}

bool merge_backward_weights(Graph& graph) {
  std::vector<Node*> concats;
  for (const auto& node : graph.nodes())
    if (node->is(Op::concat)) concats.push_back(node.get());
  bool changed = false;
  for (Node* concat : concats) changed |= merge_parts(graph, concat);
  return changed;
}

}  // namespace

bool merge_gemms(Graph& graph, const MergeGemmsOptions&) {
  bool changed = merge_forward(graph);
  changed |= merge_sums(graph);
  changed |= merge_backward_weights(graph);
  if (changed) graph.prune();
  return changed;
}

}  // namespace smelt
