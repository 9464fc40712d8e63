// Regular languages over code points, as deterministic automata: intersection, complement and membership.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "runtime/structured/grammar.h"

namespace smelt::structured {

/// Limits the computation steps of all operations on languages in this thread, while the object exists. An
/// operation throws Error (invalid_argument) when the steps are used up.
class LanguageSteps {
 public:
  explicit LanguageSteps(size_t most);
  ~LanguageSteps();
  LanguageSteps(const LanguageSteps&) = delete;
  LanguageSteps& operator=(const LanguageSteps&) = delete;

 private:
  size_t before_;
};

/// A set of texts. The automaton is complete and minimal; state 0 is the start. Every operation throws Error
/// (invalid_argument) if the result would have too many states.
class Language {
 public:
  /// Returns the texts that a node matches. Requires: the node contains no reference to a rule.
  static Language of(NodeId node, const Grammar& grammar);
  /// Returns all texts of `least` to `most` code points.
  static Language of_lengths(uint32_t least, uint32_t most);

  /// Returns the multiples of `divisor` (> 0) as texts: decimal digits, after an optional sign -.
  static Language of_multiples(uint32_t divisor);

  bool empty() const;
  bool contains(std::string_view text) const;
  /// Returns the texts that are not in the language.
  Language complement() const;
  friend Language operator&(const Language& a, const Language& b);

  /// Returns a node that matches exactly the texts of the language. label(set) makes the nodes for single
  /// code points: it returns a node that matches one code point of `set`.
  NodeId node(Grammar& grammar, const std::function<NodeId(const CodePointSet&)>& label) const;

 private:
  friend class LanguageBuilder;
  uint32_t classes() const { return static_cast<uint32_t>(starts_.size()); }
  uint32_t next(uint32_t state, uint32_t class_index) const {
    return next_[size_t{state} * classes() + class_index];
  }
  uint32_t class_of(char32_t c) const;
  CodePointSet set_of(uint32_t class_index) const;
  void minimize();
  std::vector<bool> live_states() const;

  std::vector<char32_t> starts_{0};   // class i is the code points in [starts_[i], starts_[i + 1])
  std::vector<uint32_t> next_{0};     // per state and class
  std::vector<bool> accepts_{false};  // per state
};

}  // namespace smelt::structured
