// Context-free grammars over Unicode code points. Regular expressions, EBNF texts and JSON Schemas are
// converted to this form.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/structured/code_points.h"

namespace smelt::structured {

using NodeId = uint32_t;
using RuleId = uint32_t;
constexpr uint32_t kUnbounded = UINT32_MAX;  // Node::most of a repetition without a limit

enum class NodeKind : uint8_t {
  never,        // matches nothing
  empty,        // matches the empty text
  bytes,        // matches `bytes`
  code_points,  // matches one code point of `set`
  sequence,     // `parts` one after the other
  choice,       // one of `parts`
  repeat,       // `least` to `most` times parts[0]
  rule,         // rule number `index`
  graph,        // graph number `index`
  text_start,   // the anchor ^, which strip_anchors removes
  text_end      // the anchor $, which strip_anchors removes
};

struct Node {
  NodeKind kind = NodeKind::never;
  std::string bytes;
  CodePointSet set;
  std::vector<NodeId> parts;
  uint32_t least = 0, most = 0;
  uint32_t index = 0;
  uint32_t depth = 0;  // levels of nodes below this one; 0 for leaves
};

/// A finite automaton. An edge reads a text that matches the node `label`. State 0 is the start.
struct Graph {
  struct Edge {
    uint32_t from, to;
    NodeId label;
  };
  uint32_t states = 1;
  std::vector<Edge> edges;
  std::vector<bool> accepts;  // per state: whether a text may end in it
};

/// A rule. Its name is for messages.
struct Rule {
  std::string name;
  NodeId body = 0;
  bool defined = false;
};

/// A context-free grammar. Functions that return a NodeId build a node, or return an equal or simpler one: a
/// sequence with a part `never` is `never`, and parts `never` are left out of a choice. They throw Error
/// (invalid_argument) if the grammar becomes too large or too deep.
class Grammar {
 public:
  Grammar();

  NodeId never() const { return 0; }
  NodeId empty() const { return 1; }
  NodeId bytes(std::string_view text);
  NodeId code_points(CodePointSet set);
  NodeId sequence(std::vector<NodeId> parts);
  NodeId choice(std::vector<NodeId> parts);
  NodeId repeat(NodeId part, uint32_t least, uint32_t most);
  NodeId optional(NodeId part) { return choice({empty(), part}); }
  NodeId rule(RuleId rule);
  NodeId graph(Graph graph);
  NodeId text_start();
  NodeId text_end();

  RuleId add_rule(std::string name);
  void define(RuleId rule, NodeId body);
  void set_root(RuleId rule) { root_ = rule; }

  const Node& node(NodeId id) const { return nodes_[id]; }
  size_t node_count() const { return nodes_.size(); }
  const Graph& graph_of(const Node& node) const { return graphs_[node.index]; }
  const std::vector<Rule>& rules() const { return rules_; }
  RuleId root() const { return root_; }

 private:
  NodeId add(Node node);
  void charge(size_t units);

  std::vector<Node> nodes_;
  std::vector<Graph> graphs_;
  std::vector<Rule> rules_;
  std::map<CodePointSet, NodeId> sets_;  // equal sets are one node
  RuleId root_ = 0;
  size_t size_ = 0;
};

/// Returns the grammar of a list of texts. Throws Error (invalid_argument) if the list is empty.
Grammar choice_grammar(const std::vector<std::string>& choices);

}  // namespace smelt::structured
