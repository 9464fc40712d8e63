// A compiled specification of texts, with the masks of one vocabulary.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>

#include "runtime/structured/automaton.h"
#include "runtime/structured/token_bytes.h"
#include "runtime/structured/token_masks.h"

namespace smelt::structured {

/// The tokens of a model, which all constraints of this model share.
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

/// An automaton with the masks of its states. All texts of equal specifications share one constraint, because
/// the masks of one text are then known for the others. Thread-safe.
class Constraint {
 public:
  static constexpr size_t kMaskBytes = size_t{16} << 20;

  /// `mask_bytes` bounds the memory of the masks that are kept.
  Constraint(std::shared_ptr<const Automaton> automaton, std::shared_ptr<const ConstraintTokens> tokens,
             size_t mask_bytes = kMaskBytes);

  /// Does the same as TokenMasks::mask, without end tokens.
  void mask(const Matcher& matcher, std::span<uint64_t> allowed);

  const std::shared_ptr<const Automaton>& automaton() const { return automaton_; }
  const std::shared_ptr<const ConstraintTokens>& tokens() const { return tokens_; }
  /// Words of a mask.
  size_t words() const { return (tokens_->count() + 63) / 64; }
  /// Returns the bytes of the automaton and of the masks that are kept, approximately.
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
