// Tokens whose characters all belong to one set: most of the tokens that can continue a string.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/structured/relative_states.h"
#include "runtime/structured/token_trie.h"

namespace smelt::structured {

/// The tokens that a set of characters and a largest number of bytes cover. A token is covered if it consists
/// of characters of the set, and has at most this number of bytes. The cover also has the nodes of the trie
/// through which all other tokens are found.
struct TokenCover {
  /// Returns the cover of the characters of a set. Tokens that contain a part of a character are not covered.
  static TokenCover of(const TokenTrie& trie, const Repeating& set, uint32_t most_bytes);

  std::vector<uint64_t> mask;  // of the tokens that are covered
  /// Nodes of the trie, except the root, with a token at or below them that is not covered; ascending.
  std::vector<uint32_t> nodes;
  /// Per element of `nodes`: the index in `nodes` of the next element that is not below this one.
  std::vector<uint32_t> skips;
};

/// The covers of one trie that were used most recently. All constraints on texts with the same vocabulary
/// share them, because most strings have one of few sets of characters. Thread-safe.
class TokenCovers {
 public:
  /// Computes the covers of the strings of JSON.
  explicit TokenCovers(std::shared_ptr<const TokenTrie> trie);
  /// Returns the cover of `set` and `most_bytes`. Returns null if it is not stored and has been requested
  /// only a few times.
  std::shared_ptr<const TokenCover> get(const Repeating& set, uint32_t most_bytes);

 private:
  struct Entry {
    Repeating set;
    uint32_t most_bytes;
    std::shared_ptr<const TokenCover> cover;
    uint32_t requests = 0;  // number of calls of get() for this entry while it had no cover
  };

  Entry& entry_of(const Repeating& set, uint32_t most_bytes);
  void make(Entry& entry) const;

  std::shared_ptr<const TokenTrie> trie_;
  std::mutex mutex_;          // of entries_
  std::list<Entry> entries_;  // the most recently used one is the first
};

}  // namespace smelt::structured
