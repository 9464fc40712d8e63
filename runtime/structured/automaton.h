// Pushdown automata over bytes, which recognize the texts of a grammar. The automaton is nondeterministic.
// Its stack has a frame for each rule that has been entered and not left, except the root rule.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/structured/grammar.h"

namespace smelt::structured {

/// Largest number of frames on a stack. A configuration (a state with its stack, matcher.h) that needs more
/// frames to reach the end of the text is dropped.
constexpr uint32_t kDeepestStack = 1024;

enum class StateKind : uint8_t {
  plain,      // has edges for bytes and for the empty text
  call,       // enters rule `index`, and returns to state `to`
  loop_head,  // of loop `index`: leaves the loop, or begins a round
  loop_end,   // of loop `index`: ends a round
  final       // ends its rule
};

/// A state. Numbers of states, rules and loops are indices into the lists of Automaton.
struct State {
  StateKind kind = StateKind::plain;
  uint32_t index = 0, to = 0;
  uint32_t rule = 0;  // the rule that contains the state
  uint32_t need = 0;  // least number of further frames on the stack until the end of the rule
  // The state's edges in Automaton::byte_edges and empty_edges: index of the first one, and number of edges.
  uint32_t first_byte_edge = 0, byte_edges = 0;
  uint32_t first_empty_edge = 0, empty_edges = 0;
};

/// An edge to state `to`, for each byte from `first` to `last`.
struct ByteEdge {
  uint8_t first, last;
  uint32_t to;
};

/// A repetition with limits on the number of rounds. A configuration contains the number of rounds so far.
/// The loops of one rule are not nested.
struct Loop {
  uint32_t least, most;       // limits of the number of rounds; most may be kUnbounded
  uint32_t head, body, exit;  // states: the loop_head, the first of a round, the one after the loop
};

using ByteSet = std::bitset<256>;

struct AutomatonRule {
  std::string name;
  uint32_t start = 0;
  ByteSet follow;  // bytes that may come directly after a text of the rule
};

/// An automaton. Every state that can be reached from the start can reach the end of the text.
struct Automaton {
  std::vector<State> states;
  std::vector<ByteEdge> byte_edges;   // grouped by state
  std::vector<uint32_t> empty_edges;  // grouped by state
  std::vector<Loop> loops;
  std::vector<AutomatonRule> rules;
  uint32_t root = 0;                      // number of the rule that whole texts match
  uint32_t largest_need = 0;              // largest State::need, in frames
  std::array<uint8_t, 256> byte_class{};  // by byte: its class; bytes of one class have the same edges
  uint32_t byte_classes = 0;

  std::span<const ByteEdge> bytes_of(const State& s) const {
    return {byte_edges.data() + s.first_byte_edge, s.byte_edges};
  }
  std::span<const uint32_t> empties_of(const State& s) const {
    return {empty_edges.data() + s.first_empty_edge, s.empty_edges};
  }
};

/// Compiles a grammar. Throws Error (invalid_argument) if a rule that is used is undefined or left-recursive,
/// if no text matches, or if the automaton would be too large.
std::shared_ptr<const Automaton> compile(const Grammar& grammar);

}  // namespace smelt::structured
