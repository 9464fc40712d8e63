// Matching of a text with an automaton (automaton.h), byte by byte.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/structured/automaton.h"

namespace smelt::structured {

struct StackFrame;
using FramePointer = std::shared_ptr<const StackFrame>;

/// A frame of a stack: the state to which a rule returns at its end. If this state is in a loop, `count` is
/// the number of rounds of the loop so far. Frames are immutable, so matchers share them.
struct StackFrame {
  uint32_t state, count;
  FramePointer below;
  uint32_t depth;  // number of frames of the stack, from this one to the bottom
  uint64_t hash;   // of this frame and all frames below
};

/// A stack: a pointer to its top frame; null in the root rule, which has no frame. Two stacks are equal if
/// all their frames are equal.
struct Stack {
  FramePointer top;
  bool operator==(const Stack& other) const;
};

/// One way in which the automaton can have read the text so far: the state that it has reached, `count` for
/// this state as in StackFrame, and the stack. A text may have several configurations, because the automaton
/// is nondeterministic.
struct Configuration {
  uint32_t state, count;
  Stack stack;
};

/// The configurations of an automaton after the text so far. Copies are cheap, because they share the frames
/// of their stacks. A matcher is not thread-safe, but copies are independent. All functions throw Error
/// (invalid_argument) if the grammar is so ambiguous that the number of configurations exceeds its bound; the
/// matcher is then unchanged.
class Matcher {
 public:
  explicit Matcher(std::shared_ptr<const Automaton> automaton);

  /// Returns whether the text so far, followed by the byte, is a prefix of a text of the grammar.
  bool accepts(uint8_t byte) const;
  /// Appends the bytes to the text, and returns true; returns false, and does nothing, if the result is not a
  /// prefix of a text of the grammar.
  bool advance(std::string_view bytes);
  /// Returns whether the text so far is a whole text of the grammar.
  bool can_end() const { return can_end_; }
  /// Returns the bytes that can come next.
  ByteSet next_bytes() const;
  /// Returns the longest text that must follow, of at most `most` bytes. It may end inside a character.
  std::string forced_bytes(size_t most = 4096) const;

  const std::shared_ptr<const Automaton>& automaton() const { return automaton_; }
  const std::vector<Configuration>& configurations() const { return configurations_; }
  /// Returns a matcher after the return from a rule: its state is that of the top frame of `stack`, and its
  /// stack consists of the other frames. Requires: `stack` has a frame.
  Matcher after_return(const Stack& stack) const;

 private:
  Matcher(std::shared_ptr<const Automaton> automaton, uint32_t state, uint32_t count, const Stack& stack);
  bool step(uint8_t byte);

  std::shared_ptr<const Automaton> automaton_;
  std::vector<Configuration> configurations_;  // only those whose states have byte edges
  bool can_end_ = false;
};

}  // namespace smelt::structured
