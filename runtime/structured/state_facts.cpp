#include "runtime/structured/state_facts.h"

#include <algorithm>
#include <deque>

#include "runtime/base/error.h"

namespace smelt::structured {
namespace {

constexpr size_t kMostFactSteps = 50'000'000;

void count_steps(size_t& steps, size_t more) {
  steps += more;
  if (steps > kMostFactSteps)
    fail("structured output: the grammar is too large; expected one with fewer rules");
}

/// Calls f for every state that the facts of state `s` depend on.
template <typename F>
void each_successor(const RawAutomaton& raw, uint32_t s, F f) {
  const RawState& state = raw.states[s];
  for (const ByteEdge& edge : state.bytes) f(edge.to);
  for (const uint32_t to : state.empties) f(to);
  if (state.kind == StateKind::call) f(raw.rules[state.index].start), f(state.to);
  if (state.kind == StateKind::loop_head) f(raw.loops[state.index].body), f(raw.loops[state.index].exit);
  if (state.kind == StateKind::loop_end) f(raw.loops[state.index].head), f(raw.loops[state.index].exit);
}

/// Calls `update(s)` until it returns false for all states. A state is updated again after a successor has
/// changed.
template <typename Update>
void iterate(const RawAutomaton& raw, Update update) {
  std::vector<std::vector<uint32_t>> dependents(raw.states.size());
  std::deque<uint32_t> queue;
  for (uint32_t s = 0; s < raw.states.size(); ++s) {
    each_successor(raw, s, [&](uint32_t to) { dependents[to].push_back(s); });
    queue.push_front(s);
  }
  std::vector<bool> waits(raw.states.size(), true);
  for (size_t steps = 0; !queue.empty(); queue.pop_front()) {
    const uint32_t s = queue.front();
    waits[s] = false;
    count_steps(steps, 1 + raw.states[s].bytes.size() + raw.states[s].empties.size());
    if (!update(s)) continue;
    for (const uint32_t d : dependents[s])
      if (!waits[d]) waits[d] = true, queue.push_back(d);
  }
}

bool is_final(const RawAutomaton& raw, uint32_t s) { return raw.states[s].kind == StateKind::final; }

uint32_t need_of_call(const RawAutomaton& raw, const RawState& call, const std::vector<uint32_t>& need) {
  const uint32_t inside = need[raw.rules[call.index].start], after = need[call.to];
  if (inside == kNoEnd || after == kNoEnd) return kNoEnd;
  return is_final(raw, call.to) ? inside : std::max(inside + 1, after);
}

uint32_t need_of(const RawAutomaton& raw, uint32_t s, const std::vector<uint32_t>& need) {
  const RawState& state = raw.states[s];
  uint32_t least = kNoEnd;
  switch (state.kind) {
    case StateKind::final:
      return 0;
    case StateKind::call:
      return need_of_call(raw, state, need);
    case StateKind::loop_end:
      return need[raw.loops[state.index].exit];
    case StateKind::loop_head: {
      const Loop& loop = raw.loops[state.index];
      return loop.least == 0 ? need[loop.exit] : std::max(need[loop.body], need[loop.exit]);
    }
    case StateKind::plain:
      for (const ByteEdge& edge : state.bytes) least = std::min(least, need[edge.to]);
      for (const uint32_t to : state.empties) least = std::min(least, need[to]);
  }
  return least;
}

bool nullable_of(const RawAutomaton& raw, uint32_t s, const std::vector<bool>& nullable) {
  const RawState& state = raw.states[s];
  switch (state.kind) {
    case StateKind::final:
      return true;
    case StateKind::call:
      return nullable[raw.rules[state.index].start] && nullable[state.to];
    case StateKind::loop_head:
      return raw.loops[state.index].least == 0 && nullable[raw.loops[state.index].exit];
    case StateKind::loop_end:
      return nullable[raw.loops[state.index].exit];
    default:
      return std::any_of(state.empties.begin(), state.empties.end(),
                         [&](uint32_t to) { return nullable[to]; });
  }
}

ByteSet bytes_between(uint8_t first, uint8_t last) {
  ByteSet set;
  for (uint32_t b = first; b <= last; ++b) set.set(b);
  return set;
}

ByteSet first_of(const RawAutomaton& raw, uint32_t s, const StateFacts& facts) {
  const RawState& state = raw.states[s];
  ByteSet set;
  for (const ByteEdge& edge : state.bytes) set |= bytes_between(edge.first, edge.last);
  for (const uint32_t to : state.empties) set |= facts.first[to];
  if (state.kind == StateKind::call) {
    const uint32_t start = raw.rules[state.index].start;
    set |= facts.first[start];
    if (facts.nullable[start]) set |= facts.first[state.to];
  } else if (state.kind == StateKind::loop_head || state.kind == StateKind::loop_end) {
    set |= facts.first[raw.loops[state.index].body] | facts.first[raw.loops[state.index].exit];
  }
  return set;
}

template <typename Values, typename Value>
bool assign(Values& values, uint32_t at, const Value& value) {
  const bool changed = values[at] != value;
  values[at] = value;
  return changed;
}

/// Returns the rules that a rule can call before its first byte.
std::vector<uint32_t> first_calls(const RawAutomaton& raw, const StateFacts& facts, uint32_t rule,
                                  size_t& steps) {
  std::vector<uint32_t> calls, pending{raw.rules[rule].start};
  std::map<uint32_t, bool> visited{{pending[0], true}};
  while (!pending.empty()) {
    const uint32_t s = pending.back();
    const RawState& state = raw.states[s];
    pending.pop_back();
    count_steps(steps, 1 + state.empties.size());
    const auto visit = [&](uint32_t to) {
      if (visited.emplace(to, true).second) pending.push_back(to);
    };
    for (const uint32_t to : state.empties) visit(to);
    if (state.kind == StateKind::loop_head)
      visit(raw.loops[state.index].body), visit(raw.loops[state.index].exit);
    if (state.kind != StateKind::call) continue;
    calls.push_back(state.index);
    if (facts.nullable[raw.rules[state.index].start]) visit(state.to);
  }
  return calls;
}

/// The graph of first calls, and a depth-first search for cycles in it.
class FirstCalls {
 public:
  FirstCalls(const RawAutomaton& raw, const StateFacts& facts) : raw_(raw) {
    size_t steps = 0;
    for (uint32_t rule = 0; rule < raw.rules.size(); ++rule)
      calls_.push_back(first_calls(raw, facts, rule, steps));
  }

  void refuse_cycles() const {
    std::vector<uint8_t> mark(raw_.rules.size());  // 1: on the path, 2: finished
    for (uint32_t rule = 0; rule < raw_.rules.size(); ++rule)
      if (mark[rule] == 0) search(rule, mark);
  }

 private:
  void search(uint32_t root, std::vector<uint8_t>& mark) const {
    std::vector<std::pair<uint32_t, size_t>> path{{root, 0}};
    mark[root] = 1;
    while (!path.empty()) {
      auto& [rule, at] = path.back();
      if (at == calls_[rule].size()) {
        mark[rule] = 2;
        path.pop_back();
        continue;
      }
      const uint32_t callee = calls_[rule][at++];
      if (mark[callee] == 1)
        fail(
            "grammar: the rule '{}' is left-recursive: it can begin with itself; expected a right-recursive "
            "rule or a repetition",
            raw_.rules[callee].name);
      if (mark[callee] == 0) mark[callee] = 1, path.emplace_back(callee, 0);
    }
  }

  const RawAutomaton& raw_;
  std::vector<std::vector<uint32_t>> calls_;
};

}  // namespace

StateFacts facts_of(const RawAutomaton& raw) {
  StateFacts facts{std::vector<uint32_t>(raw.states.size(), kNoEnd), std::vector<bool>(raw.states.size()),
                   std::vector<ByteSet>(raw.states.size())};
  iterate(raw, [&](uint32_t s) { return assign(facts.need, s, need_of(raw, s, facts.need)); });
  iterate(raw, [&](uint32_t s) { return assign(facts.nullable, s, nullable_of(raw, s, facts.nullable)); });
  iterate(raw, [&](uint32_t s) { return assign(facts.first, s, first_of(raw, s, facts)); });
  return facts;
}

void remove_dead_edges(RawAutomaton& raw, const StateFacts& facts) {
  const auto is_dead = [&](uint32_t to) { return facts.need[to] == kNoEnd; };
  for (RawState& state : raw.states) {
    std::erase_if(state.bytes, [&](const ByteEdge& edge) { return is_dead(edge.to); });
    std::erase_if(state.empties, is_dead);
    std::sort(state.empties.begin(), state.empties.end());
    state.empties.erase(std::unique(state.empties.begin(), state.empties.end()), state.empties.end());
  }
  for (Loop& loop : raw.loops)
    if (is_dead(loop.body)) loop.most = 0;
}

void refuse_left_recursion(const RawAutomaton& raw, const StateFacts& facts) {
  FirstCalls(raw, facts).refuse_cycles();
}

std::vector<ByteSet> follow_sets(const RawAutomaton& raw, const StateFacts& facts) {
  std::vector<ByteSet> follow(raw.rules.size());
  size_t steps = 0;
  for (bool changed = true; changed;) {
    changed = false;
    count_steps(steps, raw.states.size());
    for (const RawState& state : raw.states) {
      if (state.kind != StateKind::call) continue;
      ByteSet after = follow[state.index] | facts.first[state.to];
      if (facts.nullable[state.to]) after |= follow[state.rule];
      changed |= assign(follow, state.index, after);
    }
  }
  return follow;
}

}  // namespace smelt::structured
