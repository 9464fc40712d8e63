// A text that is generated token by token and has to satisfy a constraint.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/structured/constraint.h"

namespace smelt::structured {

/// The text of one request. Copies are cheap and independent, so a speculative text can be dropped. One
/// thread at a time may use a text; texts that share a constraint may be used concurrently.
class ConstrainedText {
 public:
  /// `end_tokens` are ids that end the text, even if they have bytes. `follows_text`: whether the text is
  /// decoded together with earlier tokens that have bytes; false for example after an empty prompt. Some
  /// tokens have other bytes at the beginning of a decoded text than inside of it
  /// (TokenBytes::other_at_start). If `follows_text` is false, they are not allowed as first token. Throws
  /// Error (invalid_argument) if an end token is not in the vocabulary.
  ConstrainedText(std::shared_ptr<Constraint> constraint, std::vector<int32_t> end_tokens,
                  bool follows_text = true);

  /// Returns the number of words that fill() needs.
  size_t words() const { return (constraint_->tokens()->count() + 31) / 32; }

  /// Assigns bit t % 32 of word t / 32 for each token t: 1 if the token may come next, else 0. End tokens may
  /// come next if the text satisfies the constraint (can_end), or if no other token of the vocabulary may
  /// come next. After the end, only end tokens are allowed. If `bits` has more than words() words, the
  /// additional ones are cleared. Throws Error (invalid_argument) if it has fewer, and if the grammar is too
  /// ambiguous for the text (Matcher); the text is then unchanged.
  void fill(std::span<uint32_t> bits);

  /// Appends a token, and returns true. Returns false, and does nothing, if the token is not allowed. Throws
  /// Error (invalid_argument) if the grammar is too ambiguous; the text is then unchanged.
  bool advance(int32_t token);

  /// Returns whether the text so far satisfies the constraint.
  bool can_end() const { return matcher_.can_end(); }
  /// Returns whether the text satisfies the constraint and nothing can come next but its end.
  bool must_end() const { return can_end() && matcher_.configurations().empty(); }
  /// Returns whether an end token was appended.
  bool ended() const { return ended_; }

 private:
  bool is_end(int32_t token) const;
  bool is_allowed_at_start(int32_t token) const;
  void fill_words();

  std::shared_ptr<Constraint> constraint_;
  std::vector<int32_t> end_tokens_;  // sorted
  Matcher matcher_;
  bool is_at_start_;
  bool ended_ = false;
  std::vector<uint64_t> allowed_;  // the mask that fill() copies
};

}  // namespace smelt::structured
