// New tokens without the host between them: the entry @next chooses each one and leaves it to its next run,
// so runs follow each other while the host reads what the earlier ones have chosen.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "runtime/generation/chosen_tokens.h"
#include "runtime/generation/generation_options.h"
#include "runtime/generation/logits_processors.h"
#include "runtime/generation/loop_inputs.h"
#include "runtime/session.h"

namespace smelt {

/// A row of the caches that goes on: these hold all of `read` but the last.
struct LoopRow {
  std::span<const int32_t> read;  // what the model reads, padding left out
  History history;
  size_t index = 0;  // of the sequence, for its random numbers
};

class TokenLoop {
 public:
  /// Whether the plan has the entry.
  static bool has_entry(const Session& session);
  /// Why the entry does not do all that these options ask for, so that the host does it; empty where it does.
  static std::string_view refuses(const GenerationOptions& options);

  explicit TokenLoop(Session& session);

  /// Told of each new token of a row and the logarithm of its probability; says whether the row goes on.
  using OnToken = std::function<bool(size_t row, int32_t token, float log_probability)>;
  /// Until no row goes on, or half of them do not, so that the caller may bring the others together; each row
  /// has one new token more than the one before it at most. Returns how many tokens of each row were read,
  /// among which may be some behind its last. Throws Error (numeric) where no token of a row can be chosen.
  size_t run(std::span<const LoopRow> rows, const GenerationOptions& options, const OnToken& on_token);

 private:
  void set_states(std::span<const LoopRow> rows, const GenerationOptions& options);
  void set_penalties(std::span<const LoopRow> rows, const GenerationOptions& options);
  void set_biases(size_t rows, const GenerationOptions& options);
  static LoopInputs inputs_of(std::span<const LoopRow> rows, const GenerationOptions& options);
  ChosenTokens::Token token_at(size_t row, size_t place) const;

  Session& session_;
  size_t vocabulary_;
  ChosenTokens chosen_;
};

}  // namespace smelt
