#include "runtime/structured/relative_states.h"

#include <algorithm>

#include "runtime/structured/closure.h"

namespace smelt {
namespace {

/// Marks the states of a loop's rounds.
void mark_loop(const Automaton& automaton, uint32_t loop, std::vector<uint32_t>& loop_of) {
  std::vector<uint32_t> pending{automaton.loops[loop].body, automaton.loops[loop].head};
  const auto visit = [&](uint32_t s) {
    if (loop_of[s] == loop) return;
    loop_of[s] = loop;
    pending.push_back(s);
  };
  loop_of[pending[0]] = loop_of[pending[1]] = loop;
  while (!pending.empty()) {
    const State& state = automaton.states[pending.back()];
    pending.pop_back();
    for (const ByteEdge& edge : automaton.bytes_of(state)) visit(edge.to);
    for (const uint32_t to : automaton.empties_of(state)) visit(to);
    if (state.kind == StateKind::call) visit(state.to);
  }
}

}  // namespace

/// Stacks above the base, for Closure.
struct RelativeStates::Stacks {
  using Stack = uint32_t;
  explicit Stacks(RelativeStates& states) : owner(states) {}

  static uint64_t hash(Stack stack) { return stack; }
  static bool fits(const State&, Stack) { return true; }
  const Frame* frame(Stack stack) const { return stack == 0 ? nullptr : &(copy_ = owner.frames_[stack]); }
  Stack push(uint32_t state, uint32_t count, Stack below) const {
    const Frame frame{state, owner.clamped(state, count), below, owner.frames_[below].depth + 1};
    owner.deepest_ = std::max(owner.deepest_, frame.depth);
    const auto [at, is_new] = owner.frame_numbers_.try_emplace(frame, static_cast<uint32_t>(owner.frames_.size()));
    if (is_new) owner.frames_.push_back(frame), owner.memory_ += 100;
    return at->second;
  }

  RelativeStates& owner;

 private:
  mutable Frame copy_{};  // the frames may move while one is used
};

RelativeStates::RelativeStates(std::shared_ptr<const Automaton> automaton, uint32_t longest_text)
    : automaton_(std::move(automaton)),
      longest_text_(longest_text),
      classes_(automaton_->byte_classes),
      loop_of_(automaton_->states.size(), kUnbounded) {
  for (uint32_t loop = 0; loop < automaton_->loops.size(); ++loop) mark_loop(*automaton_, loop, loop_of_);
  clear();
}

void RelativeStates::clear() {
  sets_.clear(), ends_.clear(), next_.clear(), numbers_.clear(), frame_numbers_.clear();
  frames_.assign(1, Frame{});
  deepest_ = 0;
  memory_ = 0;
  intern({});
}

/// Every round reads at least one byte, so a bound that is farther than the longest text has no effect on it.
uint32_t RelativeStates::clamped(uint32_t state, uint32_t count) const {
  if (loop_of_[state] == kUnbounded) return 0;
  const Loop& loop = automaton_->loops[loop_of_[state]];
  if (count < loop.least) return loop.least - count > longest_text_ ? 0 : count;
  return loop.most - count > longest_text_ ? loop.least : count;
}

uint32_t RelativeStates::state_of(std::vector<Reader> readers) {
  Set set;
  for (const Reader& reader : readers) set.items.push_back({reader.state, clamped(reader.state, reader.count), 0});
  return intern(std::move(set));
}

uint32_t RelativeStates::intern(Set set) {
  std::sort(set.items.begin(), set.items.end());
  set.items.erase(std::unique(set.items.begin(), set.items.end()), set.items.end());
  const auto [at, is_new] = numbers_.try_emplace({set.items, set.ends}, states());
  if (!is_new) return at->second;
  memory_ += 200 + 2 * set.items.size() * sizeof(Item) + classes_ * sizeof(uint32_t);
  ends_.push_back(set.ends ? 1 : 0);
  sets_.push_back(std::move(set));
  next_.resize(next_.size() + classes_, kUnknown);
  return at->second;
}

uint32_t RelativeStates::compute_next(uint32_t state, uint8_t byte) {
  Stacks stacks(*this);
  Closure<Stacks> closure(*automaton_, stacks);
  for (const Item& item : sets_[state].items)
    for (const ByteEdge& edge : automaton_->bytes_of(automaton_->states[item.state]))
      if (edge.first <= byte && byte <= edge.last) closure.add(edge.to, item.count, item.stack);
  Set set;
  set.ends = closure.has_ended;
  for (const auto& item : closure.readers)
    set.items.push_back({item.state, clamped(item.state, item.count), item.stack});
  const uint32_t to = intern(std::move(set));
  return next_[size_t{state} * classes_ + automaton_->byte_class[byte]] = to;
}

const std::array<uint64_t, 2>& RelativeStates::repeating_bytes(uint32_t state) {
  if (!sets_[state].has_repeating) {
    std::array<uint64_t, 2> repeating{};
    for (uint8_t b = 0; b < 128 && !sets_[state].ends; ++b)
      if (next(state, b) == state && state != kDead) repeating[b / 64] |= uint64_t{1} << b % 64;
    sets_[state].repeating = repeating;
    sets_[state].has_repeating = true;
  }
  return sets_[state].repeating;
}

}  // namespace smelt
