// A deterministic automaton that is built on demand from a pushdown automaton (automaton.h). A configuration
// of the pushdown automaton is a state with a stack. The stack has a frame for each grammar rule that has
// been entered and not left. All configurations of the deterministic automaton have one frame in common, the
// base, and only the frames above the base are stored.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "runtime/structured/automaton.h"

namespace smelt::structured {

/// A configuration without frames above the base: a state of the pushdown automaton, and the rounds so far
/// (`count`) of the loop that contains it.
struct Reader {
  uint32_t state, count;
  auto operator<=>(const Reader&) const = default;
};

/// A set of characters. Texts of these characters lead from a state to itself. `ascii` has one bit per ASCII
/// character. `all_others`: all other characters are in the set, too.
struct Repeating {
  std::array<uint64_t, 2> ascii{};
  bool all_others = false;
  bool operator==(const Repeating&) const = default;
};

/// A state of the deterministic automaton is a number, from 0 on, of a set of configurations of the pushdown
/// automaton. It does not depend on the frames below the base, so equal parts of a text have equal states,
/// however deep they are nested. Not thread-safe.
class RelativeStates {
 public:
  static constexpr uint32_t kDead = 0;  // the state without configurations

  /// `longest_text`: largest length, in bytes, of the texts that are read from a state. Configurations that
  /// differ only in counts of rounds are treated as equal if no text of this length can distinguish them.
  RelativeStates(std::shared_ptr<const Automaton> automaton, uint32_t longest_text);

  /// Returns the state of these configurations. `ends`: the pushdown automaton can also return to the base.
  uint32_t state_of(std::vector<Reader> readers, bool ends = false);
  /// Returns the state after a byte.
  uint32_t next(uint32_t state, uint8_t byte) {
    const uint32_t known = next_[size_t{state} * classes_ + automaton_->byte_class[byte]];
    return known != kUnknown ? known : compute_next(state, byte);
  }
  /// Returns whether the pushdown automaton can return to the base in this state.
  bool ends(uint32_t state) const { return ends_[state] != 0; }
  /// Returns the characters that lead from a state to itself.
  const Repeating& repeating(uint32_t state);
  /// Returns the configurations of a state; none if one of them has a frame above the base.
  std::vector<Reader> readers(uint32_t state) const;

  uint32_t states() const { return static_cast<uint32_t>(sets_.size()); }
  /// Returns the largest number of frames above the base in any state since the last clear().
  uint32_t deepest_frame() const { return deepest_; }
  size_t memory() const { return memory_; }  // approximate bytes of all states
  /// Removes all states but kDead. Numbers of other states become invalid.
  void clear();

 private:
  static constexpr uint32_t kUnknown = UINT32_MAX;
  struct Item {
    uint32_t state, count, stack;
    auto operator<=>(const Item&) const = default;
  };
  struct Set {
    std::vector<Item> items;
    bool ends = false;
    bool has_repeating = false;
    Repeating repeating;
  };
  struct Frame {
    uint32_t state, count, below, depth;
    auto operator<=>(const Frame&) const = default;
  };
  struct Stacks;

  bool others_repeat(uint32_t state);
  bool leads_back(uint32_t from, int rest, uint8_t first, uint8_t last, uint32_t to);
  uint32_t compute_next(uint32_t state, uint8_t byte);
  uint32_t intern(Set set);
  uint32_t clamped(uint32_t state, uint32_t count) const;

  std::shared_ptr<const Automaton> automaton_;
  uint32_t longest_text_, classes_;
  std::vector<uint32_t> loop_of_;  // per state; kUnbounded outside loops
  std::vector<Set> sets_;
  std::vector<uint8_t> ends_;   // per state
  std::vector<uint32_t> next_;  // per state and class of bytes
  std::map<std::pair<std::vector<Item>, bool>, uint32_t> numbers_;
  std::vector<Frame> frames_;  // number 0 is the base
  std::map<Frame, uint32_t> frame_numbers_;
  uint32_t deepest_ = 0;
  size_t memory_ = 0;
};

}  // namespace smelt::structured
