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

/// The tokens that consist of characters of one set and have at most a number of bytes, and the nodes of the
/// trie that lead to the other tokens.
struct TokenCover {
  /// Returns the cover of the characters of a set. Tokens that contain a part of a character are not covered.
  static TokenCover of(const TokenTrie& trie, const Repeating& set, uint32_t most_bytes);

  std::vector<uint64_t> mask;  // of the tokens that are covered
  std::vector<uint32_t>
      nodes;  // that have another token at or below them, without the root, in ascending order
  std::vector<uint32_t> skips;  // per element of `nodes`: index of the first one that is not below it
};

/// Covers of one trie, which all masks of a vocabulary share: most strings have one of few sets of
/// characters. The least recently used ones are dropped. Thread-safe.
class TokenCovers {
 public:
  /// Computes the covers of the strings of JSON.
  explicit TokenCovers(std::shared_ptr<const TokenTrie> trie);
  /// Returns the cover; null if it is not stored and has rarely been asked for.
  std::shared_ptr<const TokenCover> get(const Repeating& set, uint32_t most_bytes);

 private:
  struct Entry {
    Repeating set;
    uint32_t most_bytes;
    std::shared_ptr<const TokenCover> cover;
    uint32_t requests = 0;  // without a cover
  };

  Entry& entry_of(const Repeating& set, uint32_t most_bytes);
  void make(Entry& entry) const;

  std::shared_ptr<const TokenTrie> trie_;
  std::mutex mutex_;          // of entries_
  std::list<Entry> entries_;  // the most recently used one is the first
};

}  // namespace smelt::structured
