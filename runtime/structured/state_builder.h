// Construction of the states of an automaton from the nodes of a grammar, by Thompson's method.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/structured/automaton.h"

namespace smelt::structured {

/// A state with its edges. `kind`, `index`, `to` and `rule` are as in State (automaton.h). `empties` has the
/// states to which edges for the empty text lead. In the finished automaton, the edges of all states are
/// stored together (automaton.h).
struct RawState {
  StateKind kind = StateKind::plain;
  uint32_t index = 0, to = 0, rule = 0;
  std::vector<ByteEdge> bytes;
  std::vector<uint32_t> empties;
};

struct RawRule {
  std::string name;
  uint32_t start = 0, final = 0;
};

struct RawAutomaton {
  std::vector<RawState> states;
  std::vector<Loop> loops;
  std::vector<RawRule> rules;  // the root is rule 0
};

/// Returns the states of the root rule, and of all rules that it uses directly or indirectly. Throws Error if
/// one of these rules is undefined or too large.
RawAutomaton build_states(const Grammar& grammar);

/// Returns for each node whether it matches the empty text.
std::vector<bool> nullable_nodes(const Grammar& grammar);

}  // namespace smelt::structured
