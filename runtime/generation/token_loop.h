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

inline constexpr const char *kNextEntry = "next", *kNextGuided = "next_guided";

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
  explicit TokenLoop(Session& session);

  /// Told of each new token of a row and the logarithm of its probability; says whether the row goes on.
  using OnToken = std::function<bool(size_t row, int32_t token, float log_probability)>;
  /// By the entry @next, or @next_guided, which the plan then has and which does all that the options ask for
  /// (runtime/generation/loop_choice.h).
  /// Until no row goes on, or half of them do not, so that the caller may bring the others together; each row
  /// has one new token more than the one before it at most. Returns how many tokens of each row were read,
  /// among which may be some behind its last. Throws Error (numeric) where no token of a row can be chosen.
  size_t run(std::span<const LoopRow> rows, const GenerationOptions& options, bool guided,
             const OnToken& on_token);

 private:
  struct Inputs;
  void set_states(std::span<const LoopRow> rows, const GenerationOptions& options, bool guided);
  void set_penalties(std::span<const LoopRow> rows, const GenerationOptions& options);
  void set_biases(size_t rows, const GenerationOptions& options);
  ChosenTokens::Token token_at(size_t row, size_t place) const;

  Session& session_;
  size_t vocabulary_;
  ChosenTokens chosen_;
};

}  // namespace smelt
