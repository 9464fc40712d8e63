#include "runtime/structured/matcher.h"

#include "runtime/structured/closure.h"

namespace smelt::structured {
namespace {

/// Stacks of a matcher, for Closure.
struct SharedStacks {
  using Stack = structured::Stack;
  static uint32_t depth(const Stack& stack) { return stack.top ? stack.top->depth : 0; }
  static uint64_t hash(const Stack& stack) { return stack.top ? stack.top->hash : 0; }
  static const StackFrame* frame(const Stack& stack) { return stack.top.get(); }
  static bool fits(const State& state, const Stack& stack) {
    return depth(stack) + state.need <= kDeepestStack;
  }
  static Stack push(uint32_t state, uint32_t count, const Stack& below) {
    const uint64_t mixed = (hash(below) + state) * 0x9E3779B97F4A7C15u + count + 1;
    return {std::make_shared<StackFrame>(
        StackFrame{state, count, below.top, depth(below) + 1, mixed ^ mixed >> 31})};
  }
};

}  // namespace

bool Stack::operator==(const Stack& other) const {
  const StackFrame *a = top.get(), *b = other.top.get();
  while (a != b) {
    if (!a || !b || a->hash != b->hash || a->state != b->state || a->count != b->count) return false;
    a = a->below.get(), b = b->below.get();
  }
  return true;
}

namespace {

void take(Closure<SharedStacks>& closure, std::vector<Configuration>& configurations) {
  for (auto& item : closure.readers)
    configurations.push_back({item.state, item.count, std::move(item.stack)});
}

}  // namespace

Matcher::Matcher(std::shared_ptr<const Automaton> automaton, uint32_t state, uint32_t count,
                 const Stack& stack)
    : automaton_(std::move(automaton)) {
  SharedStacks stacks;
  Closure<SharedStacks> closure(*automaton_, stacks);
  closure.add(state, count, stack);
  take(closure, configurations_);
  can_end_ = closure.has_ended;
}

Matcher::Matcher(std::shared_ptr<const Automaton> automaton)
    : Matcher(automaton, automaton->rules[automaton->root].start, 0, Stack{}) {}

Matcher Matcher::after_return(const Stack& stack) const {
  return {automaton_, stack.top->state, stack.top->count, Stack{stack.top->below}};
}

bool Matcher::accepts(uint8_t byte) const {
  for (const Configuration& c : configurations_)
    for (const ByteEdge& edge : automaton_->bytes_of(automaton_->states[c.state]))
      if (edge.first <= byte && byte <= edge.last) return Matcher(*this).step(byte);
  return false;
}

bool Matcher::step(uint8_t byte) {
  SharedStacks stacks;
  Closure<SharedStacks> closure(*automaton_, stacks);
  for (const Configuration& c : configurations_)
    for (const ByteEdge& edge : automaton_->bytes_of(automaton_->states[c.state]))
      if (edge.first <= byte && byte <= edge.last) closure.add(edge.to, c.count, c.stack);
  if (closure.readers.empty() && !closure.has_ended) return false;
  configurations_.clear();
  take(closure, configurations_);
  can_end_ = closure.has_ended;
  return true;
}

bool Matcher::advance(std::string_view bytes) {
  Matcher next = *this;
  for (const char byte : bytes)
    if (!next.step(static_cast<uint8_t>(byte))) return false;
  *this = std::move(next);
  return true;
}

ByteSet Matcher::next_bytes() const {
  ByteSet candidates;
  for (const Configuration& c : configurations_)
    for (const ByteEdge& edge : automaton_->bytes_of(automaton_->states[c.state]))
      for (uint32_t b = edge.first; b <= edge.last; ++b) candidates.set(b);
  return candidates;
}

std::string Matcher::forced_bytes(size_t most) const {
  std::string forced;
  Matcher next = *this;
  while (!next.can_end() && forced.size() < most) {
    const ByteSet bytes = next.next_bytes();
    if (bytes.count() != 1) break;
    const auto byte = static_cast<uint8_t>(bytes._Find_first());
    if (!next.step(byte)) break;
    forced.push_back(static_cast<char>(byte));
  }
  return forced;
}

}  // namespace smelt::structured
