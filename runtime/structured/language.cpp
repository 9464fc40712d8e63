#include "runtime/structured/language.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt::structured {
namespace {

constexpr size_t kMostLanguageStates = 20'000;
constexpr size_t kMostTransitions = 2'000'000;
constexpr size_t kMostLanguageSteps = 40'000'000;

thread_local size_t language_steps_left = SIZE_MAX;

void charge_steps(size_t steps) {
  if (steps > language_steps_left)
    fail(
        "structured output: the expressions, bounds and names take too many steps together; expected fewer "
        "or "
        "simpler ones");
  language_steps_left -= steps;
}

void check_size(size_t states, size_t classes) {
  if (states > kMostLanguageStates || states * classes > kMostTransitions)
    fail(
        "structured output: an expression or a set of names needs more than {} states; expected shorter "
        "expressions and bounds",
        kMostLanguageStates);
}

}  // namespace

LanguageSteps::LanguageSteps(size_t most) : before_(std::exchange(language_steps_left, most)) {}
LanguageSteps::~LanguageSteps() { language_steps_left = before_; }

/// A nondeterministic automaton over code points.
class CodePointNetwork {
 public:
  struct State {
    std::vector<uint32_t> empties;
    const CodePointSet* label = nullptr;
    uint32_t to = 0;
  };

  CodePointNetwork(NodeId node, const Grammar& grammar) : grammar_(grammar) {
    start = add();
    end = build(node, start);
  }

  std::vector<State> states;
  uint32_t start = 0, end = 0;

  /// Returns the sorted first code points of the classes that no label divides.
  std::vector<char32_t> class_starts() const {
    std::set<char32_t> starts{0};
    for (const State& state : states)
      if (state.label)
        for (const CodePointRange& range : state.label->ranges()) {
          starts.insert(range.first);
          if (range.last < kLastCodePoint) starts.insert(range.last + 1);
        }
    return {starts.begin(), starts.end()};
  }

 private:
  uint32_t add() {
    if (states.size() >= 10 * kMostLanguageStates) check_size(states.size(), 1);
    states.emplace_back();
    return static_cast<uint32_t>(states.size() - 1);
  }

  /// Builds a node after a state that has no label, and returns the state after the node.
  uint32_t build(NodeId id, uint32_t from) {
    const Node& node = grammar_.node(id);
    switch (node.kind) {
      case NodeKind::empty:
        return from;
      case NodeKind::bytes:
        return build_bytes(node.bytes, from);
      case NodeKind::code_points:
        return step(node.set, from);
      case NodeKind::sequence:
        for (const NodeId part : node.parts) from = build(part, from);
        return from;
      case NodeKind::choice:
        return build_choice(node, from);
      case NodeKind::repeat:
        return build_repeat(node, from);
      case NodeKind::text_start:
      case NodeKind::text_end:
        fail(
            "regular expression: an anchor inside the expression is not supported; expected ^ at its start "
            "and $ at its end");
      default:
        return add();
    }
  }

  uint32_t step(const CodePointSet& set, uint32_t from) {
    const uint32_t source = add(), to = add();
    states[from].empties.push_back(source);
    states[source].label = &set;
    states[source].to = to;
    return to;
  }

  uint32_t build_bytes(std::string_view text, uint32_t from) {
    for (size_t at = 0; at < text.size();) {
      const CodePoint c = code_point_at(text, at);
      characters_.push_back(std::make_unique<CodePointSet>(std::vector<CodePointRange>{{c.value, c.value}}));
      from = step(*characters_.back(), from);
      at += c.bytes;
    }
    return from;
  }

  uint32_t build_choice(const Node& node, uint32_t from) {
    const uint32_t to = add();
    for (const NodeId part : node.parts) {
      const uint32_t first = add();
      states[from].empties.push_back(first);
      const uint32_t last = build(part, first);
      states[last].empties.push_back(to);
    }
    return to;
  }

  uint32_t build_repeat(const Node& node, uint32_t from) {
    for (uint32_t i = 0; i < node.least; ++i) from = build(node.parts[0], from);
    if (node.most == kUnbounded) return build_star(node.parts[0], from);
    const uint32_t to = add();
    for (uint32_t i = node.least; i < node.most; ++i) {
      states[from].empties.push_back(to);
      from = build(node.parts[0], from);
    }
    states[from].empties.push_back(to);
    return to;
  }

  uint32_t build_star(NodeId part, uint32_t from) {
    const uint32_t head = add(), after = add();
    states[from].empties.push_back(head);
    const uint32_t first = add();
    states[head].empties.push_back(first);
    const uint32_t last = build(part, first);
    states[last].empties.push_back(head);
    states[head].empties.push_back(after);
    return after;
  }

  const Grammar& grammar_;
  std::vector<std::unique_ptr<CodePointSet>> characters_;
};

/// The subset construction.
class LanguageBuilder {
 public:
  explicit LanguageBuilder(const CodePointNetwork& network)
      : network_(network), mark_(network.states.size()) {
    result_.starts_ = network.class_starts();
    result_.next_.clear(), result_.accepts_.clear();
    classes_.resize(network.states.size());
    for (size_t s = 0; s < network.states.size(); ++s)
      if (network.states[s].label) classes_[s] = classes_of(*network.states[s].label);
  }

  Language build() {
    number_of({network_.start});
    for (size_t at = 0; at < sets_.size(); ++at) add_transitions(at);
    result_.minimize();
    return std::move(result_);
  }

 private:
  using Range = std::pair<uint32_t, uint32_t>;  // of classes; the end is excluded

  std::vector<Range> classes_of(const CodePointSet& set) const {
    std::vector<Range> ranges;
    for (const CodePointRange& range : set.ranges())
      ranges.emplace_back(result_.class_of(range.first), result_.class_of(range.last) + 1);
    return ranges;
  }

  std::vector<uint32_t> closure(std::vector<uint32_t> pending) {
    ++stamp_;
    std::vector<uint32_t> labelled;
    while (!pending.empty()) {
      const uint32_t s = pending.back();
      pending.pop_back();
      if (mark_[s] == stamp_) continue;
      mark_[s] = stamp_;
      count(1);
      if (network_.states[s].label || s == network_.end) labelled.push_back(s);
      pending.insert(pending.end(), network_.states[s].empties.begin(), network_.states[s].empties.end());
    }
    std::sort(labelled.begin(), labelled.end());
    return labelled;
  }

  uint32_t number_of(std::vector<uint32_t> targets) {
    const std::vector<uint32_t> set = closure(std::move(targets));
    const auto [at, is_new] = numbers_.try_emplace(set, static_cast<uint32_t>(sets_.size()));
    if (!is_new) return at->second;
    check_size(sets_.size() + 1, result_.classes());
    sets_.push_back(set);
    result_.accepts_.push_back(std::binary_search(set.begin(), set.end(), network_.end));
    return at->second;
  }

  void add_transitions(size_t at) {
    std::vector<std::vector<uint32_t>> targets(result_.classes());
    for (const uint32_t s : sets_[at])
      for (const Range& range : classes_[s])
        for (uint32_t c = range.first; c < range.second; ++c)
          targets[c].push_back(network_.states[s].to), count(1);
    std::map<std::vector<uint32_t>, uint32_t> known;
    for (std::vector<uint32_t>& target : targets) {
      const auto [entry, is_new] = known.try_emplace(target, 0);
      if (is_new) entry->second = number_of(std::move(target));
      result_.next_.push_back(entry->second);
    }
  }

  void count(size_t steps) {
    steps_ += steps;
    if (steps_ > kMostLanguageSteps)
      fail("structured output: an expression takes too many steps; expected a simpler one");
  }

  const CodePointNetwork& network_;
  Language result_;
  std::vector<std::vector<Range>> classes_;
  std::vector<uint32_t> mark_;
  uint32_t stamp_ = 0;
  std::vector<std::vector<uint32_t>> sets_;
  std::map<std::vector<uint32_t>, uint32_t> numbers_;
  size_t steps_ = 0;
};

Language Language::of(NodeId node, const Grammar& grammar) {
  return LanguageBuilder(CodePointNetwork(node, grammar)).build();
}

Language Language::of_lengths(uint32_t least, uint32_t most) {
  Language result;
  const uint32_t last = most == kUnbounded ? least : most + 1;  // with `most`, the state after too many
  check_size(size_t{last} + 1, 1);
  result.next_.clear(), result.accepts_.clear();
  for (uint32_t s = 0; s <= last; ++s) {
    result.next_.push_back(std::min(s + 1, last));
    result.accepts_.push_back(s >= least && s <= most);
  }
  return result;
}

/// The states are the start, the text "-", and one per remainder.
Language Language::of_multiples(uint32_t divisor) {
  Language result;
  result.starts_ = {0, '-', '.'};
  for (char32_t c = '0'; c <= '9' + 1; ++c) result.starts_.push_back(c);
  const uint32_t dead = divisor + 2;
  result.accepts_.assign(dead + 1, false);
  result.accepts_[2] = true;
  result.next_.assign(size_t{dead + 1} * result.classes(), dead);
  result.next_[1] = 1;
  for (uint32_t s = 0; s < dead; ++s)
    for (uint32_t digit = 0; digit < 10; ++digit)
      result.next_[size_t{s} * result.classes() + 3 + digit] =
          2 + ((s < 2 ? 0 : s - 2) * 10 + digit) % divisor;
  return result;
}

uint32_t Language::class_of(char32_t c) const {
  return static_cast<uint32_t>(std::upper_bound(starts_.begin(), starts_.end(), c) - starts_.begin()) - 1;
}

CodePointSet Language::set_of(uint32_t class_index) const {
  const char32_t last = class_index + 1 < classes() ? starts_[class_index + 1] - 1 : kLastCodePoint;
  return CodePointSet(std::vector<CodePointRange>{{starts_[class_index], last}});
}

bool Language::empty() const { return std::find(accepts_.begin(), accepts_.end(), true) == accepts_.end(); }

bool Language::contains(std::string_view text) const {
  uint32_t state = 0;
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = code_point_at(text, at);
    state = next(state, class_of(c.value));
    at += c.bytes;
  }
  return accepts_[state];
}

Language Language::complement() const {
  Language result = *this;
  result.accepts_.flip();
  return result;
}

Language operator&(const Language& a, const Language& b) {
  Language result;
  std::set_union(a.starts_.begin(), a.starts_.end(), b.starts_.begin(), b.starts_.end(),
                 std::back_inserter(result.starts_ = {}));
  result.next_.clear(), result.accepts_.clear();
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> numbers{{{0, 0}, 0}};
  std::vector<std::pair<uint32_t, uint32_t>> pairs{{0, 0}};
  for (size_t at = 0; at < pairs.size(); ++at) {
    const auto [s, t] = pairs[at];
    result.accepts_.push_back(a.accepts_[s] && b.accepts_[t]);
    for (const char32_t start : result.starts_) {
      const std::pair<uint32_t, uint32_t> pair{a.next(s, a.class_of(start)), b.next(t, b.class_of(start))};
      const auto [known, is_new] = numbers.try_emplace(pair, static_cast<uint32_t>(pairs.size()));
      if (is_new) pairs.push_back(pair);
      result.next_.push_back(known->second);
    }
    check_size(pairs.size(), result.classes());
    charge_steps(result.classes());
  }
  result.minimize();
  return result;
}

/// Moore's method: divides the states by the blocks of their successors until no block is divided.
void Language::minimize() {
  const size_t states = accepts_.size();
  std::vector<uint32_t> block(states);
  for (size_t s = 0; s < states; ++s) block[s] = accepts_[s] ? 1 : 0;
  size_t blocks = 0;
  for (size_t steps = 0;; steps += states * classes()) {
    std::map<std::vector<uint32_t>, uint32_t> numbers;
    std::vector<uint32_t> divided(states);
    for (size_t s = 0; s < states; ++s) {
      std::vector<uint32_t> key{block[s]};
      for (uint32_t c = 0; c < classes(); ++c) key.push_back(block[next(static_cast<uint32_t>(s), c)]);
      divided[s] = numbers.try_emplace(std::move(key), static_cast<uint32_t>(numbers.size())).first->second;
    }
    const bool is_stable = numbers.size() == blocks;
    blocks = numbers.size();
    block = std::move(divided);
    if (is_stable) break;
    charge_steps(states * classes());
    if (steps > kMostLanguageSteps) return;  // a larger automaton of the same language
  }
  std::vector<uint32_t> merged(blocks * classes());
  std::vector<bool> accepts(blocks);
  for (size_t s = 0; s < states; ++s) {
    accepts[block[s]] = accepts_[s];
    for (uint32_t c = 0; c < classes(); ++c)
      merged[size_t{block[s]} * classes() + c] = block[next(static_cast<uint32_t>(s), c)];
  }
  next_ = std::move(merged);
  accepts_ = std::move(accepts);
}

std::vector<bool> Language::live_states() const {
  std::vector<bool> live = accepts_;
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t s = live.size(); s-- > 0;)
      for (uint32_t c = 0; c < classes() && !live[s]; ++c)
        if (live[next(static_cast<uint32_t>(s), c)]) changed = live[s] = true;
  }
  return live;
}

NodeId Language::node(Grammar& grammar, const std::function<NodeId(const CodePointSet&)>& label) const {
  const std::vector<bool> live = live_states();
  if (!live[0]) return grammar.never();
  Graph graph;
  graph.states = static_cast<uint32_t>(accepts_.size());
  graph.accepts = accepts_;
  for (uint32_t s = 0; s < graph.states; ++s) {
    std::map<uint32_t, std::vector<CodePointRange>> targets;
    for (uint32_t c = 0; c < classes(); ++c)
      if (const CodePointSet set = set_of(c); live[next(s, c)])
        targets[next(s, c)].insert(targets[next(s, c)].end(), set.ranges().begin(), set.ranges().end());
    for (auto& [to, ranges] : targets) graph.edges.push_back({s, to, label(CodePointSet(std::move(ranges)))});
  }
  return grammar.graph(std::move(graph));
}

}  // namespace smelt::structured
