// Charsmap: the compiled normalization rules of SentencePiece. A double-array trie maps texts to positions in
// a list of replacements.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smelt {

/// A table of rules. Accesses stay inside the table even if its bytes are invalid.
class Charsmap {
 public:
  Charsmap() = default;
  /// Reads a charsmap. If `bytes` is empty, there are no rules. Throws Error (invalid_file) if `bytes` is not
  /// a charsmap; `where` is its name in messages.
  Charsmap(std::string_view bytes, std::string_view where);

  struct Rule {
    uint32_t length;               // bytes of the text that are replaced
    std::string_view replacement;  // valid as long as the Charsmap
  };
  // Return the rule for the shortest or the longest prefix of `text` that has a rule; nothing if no prefix
  // has one.
  std::optional<Rule> shortest_rule(std::string_view text) const { return find(text, true); }
  std::optional<Rule> longest_rule(std::string_view text) const { return find(text, false); }
  bool empty() const { return units_.empty(); }

 private:
  std::optional<Rule> find(std::string_view text, bool first) const;
  /// Returns an element of the double array; 0 outside of it.
  uint32_t unit(uint32_t at) const { return at < units_.size() ? units_[at] : 0; }

  std::vector<uint32_t> units_;
  std::string texts_;  // the replacements, each with a null byte at its end
};

}  // namespace smelt
