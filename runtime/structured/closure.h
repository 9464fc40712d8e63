// Closure of configurations of an automaton (automaton.h). A configuration is a state, the number of
// completed rounds of the innermost loop, and a stack of the calls of rules that have not returned. The
// closure of a configuration consists of all configurations that can be reached from it without reading a
// byte: by empty edges, by calls of rules and returns from them, and by entering, repeating and leaving
// loops.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_set>
#include <utility>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/structured/automaton.h"

namespace smelt::structured {

/// Largest number of configurations of one closure.
constexpr size_t kMostConfigurations = 20'000;

/// Computes closures. `Stacks` has the type Stack (with ==), and these functions:
///   push(state, count, stack)   returns the stack with one more frame
///   hash(stack)                 returns a hash value of the stack
///   frame(stack)                returns a pointer to the top frame (state, count, below); null if none
///   fits(state, stack)          returns whether the rule of `state` can end without more frames on
///                               the stack than Stacks permits
template <typename Stacks>
class Closure {
 public:
  using Stack = typename Stacks::Stack;
  struct Item {
    uint32_t state, count;
    Stack stack;
    bool operator==(const Item&) const = default;
  };

  Closure(const Automaton& automaton, Stacks& stacks) : automaton_(automaton), stacks_(stacks) {}

  /// Adds a configuration and those that it leads to. Throws Error if they are too many.
  void add(uint32_t state, uint32_t count, Stack stack) {
    push(state, count, std::move(stack));
    while (!pending_.empty()) {
      const Item item = std::move(pending_.back());
      pending_.pop_back();
      expand(item);
    }
  }

  std::vector<Item> readers;  // configurations whose states have byte edges
  bool has_ended = false;     // the end of a rule was reached with an empty stack

 private:
  struct Hash {
    size_t operator()(const std::pair<Item, uint64_t>& entry) const { return entry.second; }
  };

  void push(uint32_t state, uint32_t count, Stack stack) {
    if (!stacks_.fits(automaton_.states[state], stack)) return;
    const uint64_t hash = (stacks_.hash(stack) * 31 + state) * 0x9E3779B97F4A7C15u + count;
    Item item{state, count, std::move(stack)};
    if (!seen_.insert({item, hash ^ hash >> 29}).second) return;
    if (seen_.size() > kMostConfigurations)
      fail(
          "structured output: the text matches the grammar in more than {} ways at once; expected a less "
          "ambiguous grammar",
          kMostConfigurations);
    pending_.push_back(std::move(item));
  }

  void expand(const Item& item) {
    const State& state = automaton_.states[item.state];
    if (state.byte_edges > 0) readers.push_back(item);
    for (const uint32_t to : automaton_.empties_of(state)) push(to, item.count, item.stack);
    if (state.kind == StateKind::call) call(state, item);
    if (state.kind == StateKind::final) end(item);
    if (state.kind == StateKind::loop_head) round(automaton_.loops[state.index], item);
    if (state.kind == StateKind::loop_end) end_round(automaton_.loops[state.index], item);
  }

  /// If the state after the call is the end of the caller's rule, the call needs no frame (a tail call).
  void call(const State& state, const Item& item) {
    const uint32_t start = automaton_.rules[state.index].start;
    const State& after = automaton_.states[state.to];
    if (after.kind == StateKind::final) return push(start, 0, item.stack);
    if (stacks_.fits(after, item.stack)) push(start, 0, stacks_.push(state.to, item.count, item.stack));
  }

  void end(const Item& item) {
    const auto* frame = stacks_.frame(item.stack);
    if (frame)
      push(frame->state, frame->count, Stack{frame->below});
    else
      has_ended = true;
  }

  void round(const Loop& loop, const Item& item) {
    if (item.count >= loop.least) push(loop.exit, 0, item.stack);
    if (item.count < loop.most) push(loop.body, item.count, item.stack);
  }

  void end_round(const Loop& loop, const Item& item) {
    const uint32_t count = item.count + 1;
    push(loop.head, loop.most == kUnbounded ? std::min(count, loop.least) : count, item.stack);
  }

  const Automaton& automaton_;
  Stacks& stacks_;
  std::vector<Item> pending_;
  std::unordered_set<std::pair<Item, uint64_t>, Hash> seen_;
};

}  // namespace smelt::structured
