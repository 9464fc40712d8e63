// The tokens that a sampling entry (@next, @next_pages) writes for the host, each at its position in its row
// of the states state::new_tokens and state::new_log_probabilities.
#pragma once

#include <cstdint>

#include "runtime/plan/decode_interface.h"
#include "runtime/session/session.h"
namespace smelt {

class ChosenTokens {
 public:
  /// Requires: the plan samples tokens. Tokens stay in the states until they are forgotten.
  ChosenTokens(Session& session, const DecodeInterface& decode);
  struct Token {
    int32_t id = 0;
    float log_probability = 0;
  };
  /// Returns whether the token is available, without waiting for a run.
  bool is_there(size_t row, size_t place) const;
  /// Throws Error (numeric) if no token could be chosen.
  Token at(size_t row, size_t place) const;
  /// Returns the same and removes it. Requires: no run in progress writes this position.
  Token take(size_t row, size_t place);
  void forget(size_t row, size_t place);
  /// Removes the tokens of all positions; waits for runs in progress.
  void forget_all();

 private:
  size_t index(size_t row, size_t place) const { return row * places_ + place; }
  Token left_at(size_t row, size_t place) const;

  Session& session_;
  size_t places_;
  volatile int32_t* tokens_;
  volatile float* log_probabilities_;
};

}  // namespace smelt
