// Masks of the tokens that can come next in a text.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "runtime/structured/matcher.h"
#include "runtime/structured/relative_states.h"
#include "runtime/structured/token_cover.h"
#include "runtime/structured/token_trie.h"

namespace smelt::structured {

/// Computes masks for one automaton and one vocabulary, and caches them per state of the automaton. When the
/// cache is full, it is emptied. Not thread-safe.
class TokenMasks {
 public:
  /// `end_tokens` are allowed where the text can end. `trie` has the tokens of the vocabulary. `covers` is a
  /// store of masks for sets of characters (token_cover.h), which objects with the same trie may share; null:
  /// this object has its own.
  TokenMasks(std::shared_ptr<const Automaton> automaton, std::shared_ptr<const TokenTrie> trie,
             std::vector<uint32_t> end_tokens, size_t cache_bytes = size_t{64} << 20,
             std::shared_ptr<TokenCovers> covers = nullptr);

  /// Returns the number of words of a mask. A mask has one bit per token, beginning with bit 0 of word 0.
  size_t words() const { return (trie_->vocabulary + 63) / 64; }

  /// Sets the bits of the tokens whose bytes can continue the matcher's text, and of the end tokens if the
  /// text can end. Clears all other bits. Requires: the matcher is of the same automaton. Throws Error
  /// (invalid_argument) if `allowed` does not have words() words, and the errors of Matcher.
  void mask(const Matcher& matcher, std::span<uint64_t> allowed);

  /// Returns the approximate bytes of the cache.
  size_t memory() const;

 private:
  /// The part of a mask that depends only on one state of `states_`. Such a state has only the stack frames
  /// above one frame, the base (relative_states.h). A token that returns to the base also depends on the
  /// frames below it.
  struct Entry {
    std::vector<uint64_t> allowed;  // tokens that can be read without a return to the base
    std::vector<uint32_t> exits;    // nodes of the trie at which the automaton can return to the base
  };
  /// Arguments of a traversal of the trie: the two vectors of an Entry, which it fills, and `follow`.
  struct Walk {
    std::span<uint64_t> allowed;
    std::vector<uint32_t>& exits;
    ByteSet follow;  // bytes that can come after an exit
  };

  const Entry& entry_of(uint32_t state, const ByteSet& follow);
  void allow_groups(const Matcher& matcher, std::span<uint64_t> allowed);
  void allow_after(const Matcher& matcher, const std::vector<uint32_t>& exits, std::span<uint64_t> allowed);
  void walk(uint32_t node, uint32_t state, Walk& walk);
  void walk_all(uint32_t state, Walk& walk);
  void walk_others(const TokenCover& cover, uint32_t state, Walk& walk);
  bool visit(uint32_t node, Walk& walk);
  std::shared_ptr<const TokenCover> cover_of(uint32_t state, const ByteSet& follow);
  std::shared_ptr<const TokenCover> cover_of_repeating(uint32_t state);
  bool allows_all_below(uint32_t node, uint32_t state, const ByteSet& follow);
  bool repeats(uint32_t node, const Repeating& repeating) const;
  void allow_tokens(uint32_t first_node, uint32_t end_node, std::span<uint64_t> allowed) const;
  void mask_near_bound(const Matcher& matcher, std::span<uint64_t> allowed) const;
  bool is_near_bound(const Matcher& matcher) const;
  bool exit_matters(uint32_t node, const ByteSet& follow) const;
  void bound_cache();

  std::shared_ptr<const Automaton> automaton_;
  std::shared_ptr<const TokenTrie> trie_;
  std::vector<uint32_t> end_tokens_;
  std::shared_ptr<TokenCovers> covers_;
  size_t cache_bytes_, cached_bytes_ = 0;
  RelativeStates states_;
  /// States for short texts (RelativeStates with a small `longest_text`), for nodes of the trie that have
  /// only short texts below them. States that no short text can distinguish are one state here.
  struct ShortStates {
    const Repeating& of(RelativeStates& whole, uint32_t state);
    RelativeStates states;
    std::vector<std::optional<Repeating>> repeating;  // per state of states_
  };
  std::vector<ShortStates> short_states_;
  std::vector<uint16_t> visits_;  // per state of states_: number of calls of allows_all_below, up to a limit
  std::unordered_map<uint32_t, Entry> entries_;
  std::vector<uint32_t> path_;  // states on the way from the root of the trie to a node, per depth
};

/// Allows tokens one by one with copies of the matcher: a slow reference for tests.
void mask_by_tokens(const Matcher& matcher, const std::vector<std::string>& vocabulary,
                    std::span<uint64_t> allowed);

}  // namespace smelt::structured
