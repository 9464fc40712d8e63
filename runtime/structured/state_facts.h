// Facts about the states of a grammar's automaton. A state belongs to one rule of the grammar. The facts say
// whether the end of that rule is reachable, and which bytes can come next.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/structured/automaton.h"
#include "runtime/structured/state_builder.h"

namespace smelt::structured {

constexpr uint32_t kNoEnd = UINT32_MAX;

/// Facts, by state.
struct StateFacts {
  /// Smallest depth of the stack, in frames, with which the end of the state's rule can be reached; kNoEnd if
  /// the end is not reachable.
  std::vector<uint32_t> need;
  std::vector<bool> nullable;  // the rule's end is reachable without a byte
  std::vector<ByteSet> first;  // bytes that can come next before the end of the rule
};

/// Computes the facts of all states. Throws Error if that takes too many steps.
StateFacts facts_of(const RawAutomaton& raw);

/// Removes all edges to states from which no end is reachable.
void remove_dead_edges(RawAutomaton& raw, const StateFacts& facts);

/// Throws Error (invalid_argument) with the name of a rule that can begin with itself, if there is one.
void refuse_left_recursion(const RawAutomaton& raw, const StateFacts& facts);

/// Returns per rule the bytes that can come after its end.
std::vector<ByteSet> follow_sets(const RawAutomaton& raw, const StateFacts& facts);

}  // namespace smelt::structured
