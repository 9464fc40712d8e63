#include "runtime/structured/constraint.h"

namespace smelt::structured {
namespace {

size_t memory_of(const Automaton& automaton) {
  return sizeof(automaton) + automaton.states.size() * sizeof(State) +
         automaton.byte_edges.size() * sizeof(ByteEdge) + automaton.empty_edges.size() * sizeof(uint32_t) +
         automaton.loops.size() * sizeof(Loop) + automaton.rules.size() * (sizeof(AutomatonRule) + 80);
}

}  // namespace

Constraint::Constraint(std::shared_ptr<const Automaton> automaton,
                       std::shared_ptr<const ConstraintTokens> tokens, size_t mask_bytes)
    : automaton_(std::move(automaton)),
      tokens_(std::move(tokens)),
      automaton_bytes_(memory_of(*automaton_)),
      masks_(automaton_, tokens_->trie, {}, mask_bytes, tokens_->covers) {}

void Constraint::mask(const Matcher& matcher, std::span<uint64_t> allowed) {
  const std::lock_guard lock(mutex_);
  masks_.mask(matcher, allowed);
  mask_bytes_ = masks_.memory();
}

}  // namespace smelt::structured
