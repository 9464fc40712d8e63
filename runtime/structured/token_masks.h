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

/// Computes masks for one automaton and one vocabulary, and caches them by the states of the automaton. The
/// cache is bounded: when it is full, it is emptied. Not thread-safe.
class TokenMasks {
 public:
  /// `end_tokens` are allowed where the text can end. `covers`, if given, are those of the trie, and other
  /// masks may share them.
  TokenMasks(std::shared_ptr<const Automaton> automaton, std::shared_ptr<const TokenTrie> trie,
             std::vector<uint32_t> end_tokens, size_t cache_bytes = size_t{64} << 20,
             std::shared_ptr<TokenCovers> covers = nullptr);

  /// Words of a mask: one bit per token, beginning with bit 0 of word 0.
  size_t words() const { return (trie_->vocabulary + 63) / 64; }

  /// Sets the bits of exactly the tokens whose bytes the matcher's text can be continued with, and of the end
  /// tokens if the text can end; clears all others. Requires: the matcher is of the same automaton. Throws
  /// Error (invalid_argument) if `allowed` does not have words() words, and the errors of Matcher.
  void mask(const Matcher& matcher, std::span<uint64_t> allowed);

  /// Returns the bytes of the cache, approximately.
  size_t memory() const;

 private:
  struct Entry {
    std::vector<uint64_t> allowed;  // tokens that do not leave the base's rule
    std::vector<uint32_t> exits;    // nodes of the trie at which the base's rule ends
  };
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
  /// States for short texts only, in which more counts of rounds are equal; for the texts below low nodes of
  /// the trie.
  struct ShortStates {
    const Repeating& of(RelativeStates& whole, uint32_t state);
    RelativeStates states;
    std::vector<std::optional<Repeating>> repeating;  // per state of states_
  };
  std::vector<ShortStates> short_states_;
  std::vector<uint16_t> visits_;  // per state of states_
  std::unordered_map<uint32_t, Entry> entries_;
  std::vector<uint32_t> path_;  // states on the way to a node, per depth
};

/// Allows tokens one by one with copies of the matcher: a slow reference for tests.
void mask_by_tokens(const Matcher& matcher, const std::vector<std::string>& vocabulary,
                    std::span<uint64_t> allowed);

}  // namespace smelt::structured
