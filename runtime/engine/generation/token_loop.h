// New tokens without the host between them: the entry @next samples each one and stores it for its next run,
// so runs follow each other while the host reads earlier tokens.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "runtime/engine/generation/chosen_tokens.h"
#include "runtime/engine/generation/generation_options.h"
#include "runtime/engine/generation/logits_processors.h"
#include "runtime/engine/generation/loop_inputs.h"
#include "runtime/session/session.h"

namespace smelt {

/// A row of the caches that continues: the caches hold all of `read` but the last.
struct LoopRow {
  std::span<const int32_t> read;  // what the model reads, padding left out
  History history;
  size_t index = 0;  // of the sequence, for its random numbers
};

class TokenLoop {
 public:
  /// Requires: the plan has the entry.
  TokenLoop(Session& session, const DecodeInterface& decode);
  /// Receives each new token of a row and its log-probability; returns whether the row continues.
  using OnToken = std::function<bool(size_t row, int32_t token, float log_probability)>;
  /// Runs the entry @next, or @next_guided, which must support the options
  /// (runtime/engine/generation/loop_choice.h), until all rows have ended, or half of them have, so that the
  /// caller may compact the others. A row has at most one new token more than the one before it. Returns the
  /// number of tokens of each row that were read, which may include some after its last one. Throws Error
  /// (numeric) if no token of a row can be chosen.
  size_t run(std::span<const LoopRow> rows, const GenerationOptions& options, bool guided,
             const OnToken& on_token);

 private:
  struct Inputs;
  struct Steps;
  void set_states(std::span<const LoopRow> rows, const GenerationOptions& options, bool guided);
  void set_penalties(std::span<const LoopRow> rows, const GenerationOptions& options);

  ChosenTokens::Token token_at(size_t row, size_t place) const;

  Session& session_;
  size_t vocabulary_;
  ChosenTokens chosen_;
};

}  // namespace smelt
