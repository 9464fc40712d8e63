// The tokens that an entry which chooses them (@next, @next_pages) leaves for the host, each at its place in
// its row of the states kNewTokens and kNewLogProbabilities.
#pragma once

#include <cstdint>

#include "runtime/session.h"

namespace smelt {

class ChosenTokens {
 public:
  static bool has_states(const Plan& plan);

  /// The plan must have the states. What is in them is there until it is forgotten.
  explicit ChosenTokens(Session& session);

  struct Token {
    int32_t id = 0;
    float log_probability = 0;
  };
  /// Looked for without waiting for a run.
  bool is_there(size_t row, size_t place) const;
  /// Throws Error (numeric) where no token could be chosen.
  Token at(size_t row, size_t place) const;
  /// The same, which is there no longer then. No run under way may be at this place.
  Token take(size_t row, size_t place);
  void forget(size_t row, size_t place);
  /// The same of all places; waits for runs under way.
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
