// Tokens that an entry with a sampler (@next, @next_pages) writes for the host. They are in the states
// state::new_tokens and state::new_log_probabilities, [row, position], which the host reads while the device
// works.
#pragma once

#include <cstdint>

#include "runtime/plan/decode_interface.h"
#include "runtime/session/session.h"
namespace smelt {

class ChosenTokens {
 public:
  /// Requires: the plan has an entry that samples tokens.
  ChosenTokens(Session& session, const DecodeInterface& decode);
  struct Token {
    int32_t id = 0;
    float log_probability = 0;
  };
  /// Returns whether the token at position `place` of the row has been written. Does not wait.
  bool is_there(size_t row, size_t place) const;
  /// Returns the token. Requires: is_there(row, place). Throws Error (numeric) if no token could be chosen.
  Token at(size_t row, size_t place) const;
  /// Returns the token as at() does, and removes it. Requires: no run in progress writes this position.
  Token take(size_t row, size_t place);
  /// Removes the token, so that is_there returns false until a run writes it again.
  void forget(size_t row, size_t place);
  /// Removes all tokens; waits for runs in progress.
  void forget_all();

 private:
  size_t index(size_t row, size_t place) const { return row * places_ + place; }
  /// Returns what is stored for the token, without checking it.
  Token left_at(size_t row, size_t place) const;

  Session& session_;
  size_t places_;  // positions per row of the two states
  volatile int32_t* tokens_;
  volatile float* log_probabilities_;
};

}  // namespace smelt
