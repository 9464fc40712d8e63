#include "runtime/structured/state_builder.h"

#include <algorithm>

#include "runtime/base/error.h"
#include "runtime/structured/utf8_ranges.h"

namespace smelt::structured {
namespace {

constexpr size_t kMostAutomatonStates = 1'000'000;
constexpr uint64_t kMostCopies = 20'000;  // nodes in the copies of one repetition
constexpr uint32_t kShortRepeat = 3;      // repetitions of at most this count are copied, not counted

class StateBuilder {
 public:
  explicit StateBuilder(const Grammar& grammar)
      : grammar_(grammar), nullable_(nullable_nodes(grammar)), sizes_(grammar.node_count()) {
    for (NodeId id = 0; id < sizes_.size(); ++id) sizes_[id] = size_of(grammar.node(id));
  }

  RawAutomaton build() {
    rule_of(grammar_.root());
    for (size_t i = 0; i < pending_.size(); ++i) {
      rule_ = static_cast<uint32_t>(i);
      tails_.clear(), shared_.clear();
      build(pending_[i], result_.rules[i].start, result_.rules[i].final);
    }
    return std::move(result_);
  }

 private:
  uint64_t size_of(const Node& node) const {
    uint64_t size = 1 + node.bytes.size() + node.set.ranges().size();
    for (const NodeId part : node.parts) size += sizes_[part];
    if (node.kind == NodeKind::graph)
      for (const Graph::Edge& edge : grammar_.graph_of(node).edges) size += sizes_[edge.label];
    if (node.kind == NodeKind::repeat) size *= std::max(node.least, node.most == kUnbounded ? 1 : node.most);
    return std::min(size, uint64_t{1} << 32);
  }

  uint32_t add_state(StateKind kind = StateKind::plain) {
    if (result_.states.size() >= kMostAutomatonStates)
      fail("structured output: the automaton has more than {} states; expected a smaller grammar",
           kMostAutomatonStates);
    RawState& added = result_.states.emplace_back();
    added.kind = kind;
    added.rule = rule_;
    return static_cast<uint32_t>(result_.states.size() - 1);
  }
  RawState& state(uint32_t s) { return result_.states[s]; }
  void connect(uint32_t from, uint32_t to) { state(from).empties.push_back(to); }

  uint32_t add_rule(std::string name, NodeId body) {
    const uint32_t outer = std::exchange(rule_, static_cast<uint32_t>(pending_.size()));
    pending_.push_back(body);
    const uint32_t start = add_state();
    result_.rules.push_back({std::move(name), start, add_state(StateKind::final)});
    return std::exchange(rule_, outer);
  }

  uint32_t rule_of(RuleId id) {
    const auto known = rules_.find(id);
    if (known != rules_.end()) return known->second;
    const Rule& rule = grammar_.rules()[id];
    if (!rule.defined) fail("grammar: the rule '{}' is used, but not defined", rule.name);
    return rules_[id] = add_rule(rule.name, rule.body);
  }

  void build(NodeId id, uint32_t from, uint32_t to) {
    const Node& node = grammar_.node(id);
    switch (node.kind) {
      case NodeKind::never:
        return;
      case NodeKind::empty:
        return connect(from, to);
      case NodeKind::bytes:
        return build_bytes(node.bytes, from, to);
      case NodeKind::code_points:
        return build_code_points(node.set, from, to);
      case NodeKind::sequence:
        return build_sequence(node, from, to);
      case NodeKind::choice:
        return build_choice(node, from, to);
      case NodeKind::repeat:
        return build_repeat(id, from, to);
      case NodeKind::rule:
        return build_call(rule_of(node.index), from, to);
      case NodeKind::graph:
        return build_graph(grammar_.graph_of(node), from, to);
      case NodeKind::text_start:
      case NodeKind::text_end:
        fail(
            "regular expression: an anchor inside the expression is not supported; expected ^ at its start "
            "and $ at its end");
    }
  }

  void build_bytes(const std::string& bytes, uint32_t from, uint32_t to) {
    for (size_t i = 0; i < bytes.size(); ++i) {
      const uint32_t next = i + 1 == bytes.size() ? to : add_state();
      const auto byte = static_cast<uint8_t>(bytes[i]);
      state(from).bytes.push_back({byte, byte, next});
      from = next;
    }
  }

  void build_code_points(const CodePointSet& set, uint32_t from, uint32_t to) {
    for (const ByteRanges& ranges : utf8_ranges(set)) {
      const uint32_t next = tail(ranges, 1, to);
      state(from).bytes.push_back({ranges[0].first, ranges[0].last, next});
    }
  }

  /// Returns the state before the ranges from number `at`; equal tails with one end are one state.
  uint32_t tail(const ByteRanges& ranges, size_t at, uint32_t to) {
    if (at == ranges.size()) return to;
    std::string key;
    for (size_t i = at; i < ranges.size(); ++i)
      key.append({static_cast<char>(ranges[i].first), static_cast<char>(ranges[i].last)});
    const auto known = tails_.find({to, key});
    if (known != tails_.end()) return known->second;
    const uint32_t next = tail(ranges, at + 1, to);
    const uint32_t s = add_state();
    state(s).bytes.push_back({ranges[at].first, ranges[at].last, next});
    return tails_[{to, key}] = s;
  }

  void build_sequence(const Node& node, uint32_t from, uint32_t to) {
    for (size_t i = 0; i < node.parts.size(); ++i) {
      const uint32_t next = i + 1 == node.parts.size() ? to : add_state();
      build(node.parts[i], from, next);
      from = next;
    }
  }

  /// Builds a part once for each end that it has.
  void build_shared(NodeId id, uint32_t from, uint32_t to) {
    if (sizes_[id] <= 2 || in_loop_) return build(id, from, to);
    const auto known = shared_.find({id, to});
    if (known != shared_.end()) return connect(from, known->second);
    const uint32_t s = add_state();
    build(id, s, to);
    shared_[{id, to}] = s;
    connect(from, s);
  }

  void build_choice(const Node& node, uint32_t from, uint32_t to) {
    for (const NodeId part : node.parts) build_shared(part, from, to);
  }

  void build_call(uint32_t rule, uint32_t from, uint32_t to) {
    const uint32_t call = add_state(StateKind::call);
    state(call).index = rule;
    state(call).to = to;
    connect(from, call);
  }

  void build_graph(const Graph& graph, uint32_t from, uint32_t to) {
    std::vector<uint32_t> states(graph.states);
    for (uint32_t& s : states) s = add_state();
    connect(from, states[0]);
    for (const Graph::Edge& edge : graph.edges) {
      const bool is_choice = grammar_.node(edge.label).kind == NodeKind::choice;
      is_choice ? build(edge.label, states[edge.from], states[edge.to])
                : build_shared(edge.label, states[edge.from], states[edge.to]);
    }
    for (uint32_t s = 0; s < graph.states; ++s)
      if (graph.accepts[s]) connect(states[s], to);
  }

  void build_repeat(NodeId id, uint32_t from, uint32_t to) {
    const Node& node = grammar_.node(id);
    const NodeId part = node.parts[0];
    if (node.most == kUnbounded && node.least <= 1) return build_star(part, node.least, from, to);
    const uint32_t copies = node.most == kUnbounded ? node.least : node.most;
    const bool is_short = copies <= kShortRepeat && sizes_[part] * copies <= kMostCopies;
    if (is_short || nullable_[part] || (in_loop_ && sizes_[part] * copies <= 256))
      return build_copies(node, from, to);
    if (!in_loop_) return build_loop(node, from, to);
    const auto known = repeats_.find(id);
    const uint32_t rule = known != repeats_.end() ? known->second : add_rule("a repetition", id);
    build_call(repeats_[id] = rule, from, to);
  }

  void build_star(NodeId part, uint32_t least, uint32_t from, uint32_t to) {
    const uint32_t start = add_state(), end = least == 0 ? start : add_state();
    connect(from, start);
    build(part, start, end);
    if (end != start) connect(end, start);
    connect(end, to);
  }

  void build_copies(const Node& node, uint32_t from, uint32_t to) {
    const uint32_t copies = node.most == kUnbounded ? node.least : node.most;
    if (sizes_[node.parts[0]] * copies > kMostCopies)
      fail(
          "structured output: {} repetitions of something that may be empty are too many; expected a part "
          "that is never empty",
          copies);
    const uint32_t least = nullable_[node.parts[0]] ? 0 : node.least;
    for (uint32_t i = 0; i < copies; ++i) {
      if (i >= least) connect(from, to);
      const uint32_t next = add_state();
      build(node.parts[0], from, next);
      from = next;
    }
    if (node.most == kUnbounded)
      build_star(node.parts[0], 0, from, to);
    else
      connect(from, to);
  }

  void build_loop(const Node& node, uint32_t from, uint32_t to) {
    const auto index = static_cast<uint32_t>(result_.loops.size());
    const uint32_t head = add_state(StateKind::loop_head), end = add_state(StateKind::loop_end),
                   body = add_state();
    result_.loops.push_back({node.least, node.most, head, body, to});
    state(head).index = state(end).index = index;
    connect(from, head);
    in_loop_ = true;
    build(node.parts[0], body, end);
    in_loop_ = false;
  }

  const Grammar& grammar_;
  std::vector<bool> nullable_;
  std::vector<uint64_t> sizes_;  // per node, with all copies
  RawAutomaton result_;
  uint32_t rule_ = 0;            // the rule that is built
  bool in_loop_ = false;         // inside a counted repetition
  std::vector<NodeId> pending_;  // per rule: its body
  std::map<RuleId, uint32_t> rules_;
  std::map<NodeId, uint32_t> repeats_;
  std::map<std::pair<uint32_t, std::string>, uint32_t> tails_;
  std::map<std::pair<NodeId, uint32_t>, uint32_t> shared_;
};

}  // namespace

RawAutomaton build_states(const Grammar& grammar) { return StateBuilder(grammar).build(); }

}  // namespace smelt::structured
