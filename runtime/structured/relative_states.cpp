#include "runtime/structured/relative_states.h"

#include <algorithm>

#include "runtime/structured/closure.h"

namespace smelt::structured {
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
    const auto [at, is_new] =
        owner.frame_numbers_.try_emplace(frame, static_cast<uint32_t>(owner.frames_.size()));
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

uint32_t RelativeStates::state_of(std::vector<Reader> readers, bool ends) {
  Set set;
  set.ends = ends;
  for (const Reader& reader : readers)
    set.items.push_back({reader.state, clamped(reader.state, reader.count), 0});
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

const Repeating& RelativeStates::repeating(uint32_t state) {
  if (!sets_[state].has_repeating) {
    Repeating repeating;
    const bool is_candidate = state != kDead;
    for (uint8_t b = 0; b < 128 && is_candidate; ++b)
      if (next(state, b) == state) repeating.ascii[b / 64] |= uint64_t{1} << b % 64;
    repeating.all_others = is_candidate && others_repeat(state);
    sets_[state].repeating = repeating;
    sets_[state].has_repeating = true;
  }
  return sets_[state].repeating;
}

bool RelativeStates::others_repeat(uint32_t state) {
  struct Lead {
    uint8_t first, last;                      // first bytes of characters
    int rest;                                 // bytes after the first one
    uint8_t first_of_second, last_of_second;  // range of the second byte
  };
  constexpr Lead kLeads[] = {{0xC2, 0xDF, 1, 0x80, 0xBF}, {0xE0, 0xE0, 2, 0xA0, 0xBF},
                             {0xE1, 0xEC, 2, 0x80, 0xBF}, {0xED, 0xED, 2, 0x80, 0x9F},
                             {0xEE, 0xEF, 2, 0x80, 0xBF}, {0xF0, 0xF0, 3, 0x90, 0xBF},
                             {0xF1, 0xF3, 3, 0x80, 0xBF}, {0xF4, 0xF4, 3, 0x80, 0x8F}};
  for (const Lead& lead : kLeads) {
    uint32_t known = kDead;
    for (uint32_t b = lead.first; b <= lead.last; ++b) {
      const uint32_t after = next(state, static_cast<uint8_t>(b));
      if (after == kDead || ends(after)) return false;
      if (after != known && !leads_back(after, lead.rest, lead.first_of_second, lead.last_of_second, state))
        return false;
      known = after;
    }
  }
  return true;
}

/// Returns whether all texts of `rest` continuation bytes, of which the first is in a range, lead to a state.
bool RelativeStates::leads_back(uint32_t from, int rest, uint8_t first, uint8_t last, uint32_t to) {
  uint32_t known = kDead;
  for (uint32_t b = first; b <= last; ++b) {
    const uint32_t after = next(from, static_cast<uint8_t>(b));
    if (rest == 1 ? after != to : after == kDead || ends(after)) return false;
    if (rest > 1 && after != known && !leads_back(after, rest - 1, 0x80, 0xBF, to)) return false;
    known = after;
  }
  return true;
}

std::vector<Reader> RelativeStates::readers(uint32_t state) const {
  std::vector<Reader> readers;
  for (const Item& item : sets_[state].items) {
    if (item.stack != 0) return {};
    readers.push_back({item.state, item.count});
  }
  return readers;
}

}  // namespace smelt::structured
