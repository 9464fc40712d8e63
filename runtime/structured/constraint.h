// A compiled specification of texts, such as a JSON Schema, with masks of the tokens of one vocabulary that
// can come next.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>

#include "runtime/structured/automaton.h"
#include "runtime/structured/token_bytes.h"
#include "runtime/structured/token_masks.h"

namespace smelt::structured {

/// The tokens of a model, with two structures that speed up the computation of masks: a trie of the tokens'
/// bytes, and masks of the tokens whose characters belong to one set (token_cover.h). All constraints of the
/// model share them.
struct ConstraintTokens {
  /// Throws Error (invalid_argument) if a token has more than 4096 bytes.
  explicit ConstraintTokens(TokenBytes tokens)
      : texts(std::move(tokens)),
        trie(std::make_shared<const TokenTrie>(texts.bytes)),
        covers(std::make_shared<TokenCovers>(trie)) {}
  size_t count() const { return texts.bytes.size(); }

  TokenBytes texts;
  std::shared_ptr<const TokenTrie> trie;
  std::shared_ptr<TokenCovers> covers;
};

/// An automaton with a cache of masks of its states. Texts with equal specifications should share one
/// constraint, so that each mask is computed once. Thread-safe.
class Constraint {
 public:
  static constexpr size_t kMaskBytes = size_t{16} << 20;

  /// `mask_bytes`: limit of the memory of the cache of masks.
  Constraint(std::shared_ptr<const Automaton> automaton, std::shared_ptr<const ConstraintTokens> tokens,
             size_t mask_bytes = kMaskBytes);

  /// Sets the bits of the tokens that can continue the matcher's text, and clears all others
  /// (TokenMasks::mask). The caller adds the tokens that end the text.
  void mask(const Matcher& matcher, std::span<uint64_t> allowed);

  const std::shared_ptr<const Automaton>& automaton() const { return automaton_; }
  const std::shared_ptr<const ConstraintTokens>& tokens() const { return tokens_; }
  /// Returns the number of 64-bit words of a mask, which has one bit per token.
  size_t words() const { return (tokens_->count() + 63) / 64; }
  /// Returns the approximate bytes of the automaton and of the cache of masks.
  size_t memory() const { return automaton_bytes_ + mask_bytes_; }

 private:
  std::shared_ptr<const Automaton> automaton_;
  std::shared_ptr<const ConstraintTokens> tokens_;
  size_t automaton_bytes_;
  std::mutex mutex_;  // of masks_
  TokenMasks masks_;
  std::atomic<size_t> mask_bytes_ = 0;
};

}  // namespace smelt::structured
