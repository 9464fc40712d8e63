// Generation whose runs do not wait for the host. The plan's entry @next (decode_contract.def) samples each
// token and stores it for its next run, so that runs follow each other while the host reads earlier tokens.
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

/// A row of the batch: one sequence that continues. The caches hold all tokens of `read` except the last one.
struct LoopRow {
  std::span<const int32_t> read;  // tokens without padding
  History history;                // with padding
  size_t index = 0;               // of the sequence; selects the random numbers
};

class TokenLoop {
 public:
  /// Requires: the plan has the entry @next.
  TokenLoop(Session& session, const DecodeInterface& decode);
  /// Receives each new token of a row and its log-probability; returns whether the row continues.
  using OnToken = std::function<bool(size_t row, int32_t token, float log_probability)>;
  /// Runs an entry until at most half of the rows continue. The entry is @next, or, if `guided`,
  /// @next_guided, which also supports options that depend on the text so far (loop_choice.h). The caller may
  /// then continue these rows in a smaller batch. A single row runs to its end. `on_token` is called for all
  /// rows with their first new token, then with their second, and so on. Returns the number of runs, each of
  /// which has read one token of every row, also of rows that have ended. Requires: the entry supports the
  /// options. Throws Error (numeric) if no token of a row can be chosen.
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
