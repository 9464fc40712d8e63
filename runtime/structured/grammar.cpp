#include "runtime/structured/grammar.h"

#include <algorithm>

#include "runtime/base/error.h"

namespace smelt::structured {
namespace {

constexpr size_t kLargestGrammar = 4u << 20;  // nodes, parts, edges, ranges and bytes together
constexpr uint32_t kDeepestNode = 500;        // functions that process trees of nodes are recursive

Node node_of(NodeKind kind) {
  Node node;
  node.kind = kind;
  return node;
}

}  // namespace

Grammar::Grammar() {
  nodes_.resize(2);
  nodes_[1].kind = NodeKind::empty;
}

void Grammar::charge(size_t units) {
  size_ += units;
  if (size_ > kLargestGrammar)
    fail("structured output: the grammar has more than {} parts; expected a smaller one", kLargestGrammar);
}

NodeId Grammar::add(Node node) {
  charge(1 + node.bytes.size() + node.parts.size() + node.set.ranges().size());
  for (const NodeId part : node.parts) node.depth = std::max(node.depth, nodes_[part].depth + 1);
  if (node.depth > kDeepestNode)
    fail("structured output: the grammar is nested deeper than {} levels; expected a flatter one",
         kDeepestNode);
  nodes_.push_back(std::move(node));
  return static_cast<NodeId>(nodes_.size() - 1);
}

NodeId Grammar::bytes(std::string_view text) {
  if (text.empty()) return empty();
  Node node = node_of(NodeKind::bytes);
  node.bytes = text;
  return add(std::move(node));
}

NodeId Grammar::code_points(CodePointSet set) {
  if (set.empty()) return never();
  const auto known = sets_.find(set);
  if (known != sets_.end()) return known->second;
  Node node = node_of(NodeKind::code_points);
  node.set = set;
  return sets_[std::move(set)] = add(std::move(node));
}

NodeId Grammar::sequence(std::vector<NodeId> parts) {
  if (std::find(parts.begin(), parts.end(), never()) != parts.end()) return never();
  std::erase(parts, empty());
  if (parts.empty()) return empty();
  if (parts.size() == 1) return parts[0];
  Node node = node_of(NodeKind::sequence);
  node.parts = std::move(parts);
  return add(std::move(node));
}

NodeId Grammar::choice(std::vector<NodeId> parts) {
  std::erase(parts, never());
  if (parts.empty()) return never();
  if (parts.size() == 1) return parts[0];
  Node node = node_of(NodeKind::choice);
  node.parts = std::move(parts);
  return add(std::move(node));
}

NodeId Grammar::repeat(NodeId part, uint32_t least, uint32_t most) {
  if (most == 0 || part == empty()) return empty();
  if (part == never()) return least == 0 ? empty() : never();
  if (least == 1 && most == 1) return part;
  Node node = node_of(NodeKind::repeat);
  node.parts = {part};
  node.least = least;
  node.most = most;
  return add(std::move(node));
}

NodeId Grammar::rule(RuleId rule) {
  Node node = node_of(NodeKind::rule);
  node.index = rule;
  return add(std::move(node));
}

NodeId Grammar::graph(Graph graph) {
  Node node = node_of(NodeKind::graph);
  charge(graph.states + graph.edges.size());
  for (const Graph::Edge& edge : graph.edges) node.depth = std::max(node.depth, nodes_[edge.label].depth + 1);
  node.index = static_cast<uint32_t>(graphs_.size());
  graph.accepts.resize(graph.states);
  graphs_.push_back(std::move(graph));
  return add(std::move(node));
}

NodeId Grammar::text_start() { return add(node_of(NodeKind::text_start)); }
NodeId Grammar::text_end() { return add(node_of(NodeKind::text_end)); }

RuleId Grammar::add_rule(std::string name) {
  charge(1 + name.size());
  rules_.push_back({.name = std::move(name), .body = never(), .defined = false});
  return static_cast<RuleId>(rules_.size() - 1);
}

void Grammar::define(RuleId rule, NodeId body) {
  rules_[rule].body = body;
  rules_[rule].defined = true;
}

Grammar choice_grammar(const std::vector<std::string>& choices) {
  if (choices.empty()) fail("structured output: the list of choices is empty; expected at least one text");
  Grammar grammar;
  std::vector<NodeId> parts;
  for (const std::string& choice : choices) parts.push_back(grammar.bytes(choice));
  const RuleId root = grammar.add_rule("root");
  grammar.define(root, grammar.choice(std::move(parts)));
  grammar.set_root(root);
  return grammar;
}

}  // namespace smelt::structured
