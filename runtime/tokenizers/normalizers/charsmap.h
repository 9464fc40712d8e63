// SentencePiece's compiled normalization rules: a double-array trie from bytes to places in a list of texts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smelt {

/// Reads any bytes safely; throws Error (invalid_file) if they are no charsmap.
class Charsmap {
 public:
  Charsmap() = default;
  /// `where` names the origin for messages. No bytes at all are no rules.
  Charsmap(std::string_view bytes, std::string_view where);

  struct Rule {
    uint32_t length;  // of the text that is replaced
    std::string_view replacement;
  };
  std::optional<Rule> shortest_rule(std::string_view text) const { return find(text, true); }
  std::optional<Rule> longest_rule(std::string_view text) const { return find(text, false); }
  bool empty() const { return units_.empty(); }

 private:
  std::optional<Rule> find(std::string_view text, bool first) const;
  uint32_t unit(uint32_t at) const { return at < units_.size() ? units_[at] : 0; }

  std::vector<uint32_t> units_;
  std::string texts_;  // each ends with a zero
};

}  // namespace smelt
