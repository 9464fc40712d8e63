// Best continuations of one row of a beam search, as a plan computes them (the entries decode_beams and
// beam_pages of decode_contract.def). A step then does not read the logits of the whole vocabulary back to
// the host.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/engine/generation/generation_options.h"

namespace smelt {

/// The kBeamCandidates most probable next tokens of a row, the most probable one first, and their
/// log-probabilities by the model's own logits. A token of -1 with a log-probability of -infinity is padding
/// of a vocabulary that is smaller. A NaN means that the row's logits have a NaN.
struct RowCandidates {
  std::span<const int32_t> tokens;
  std::span<const float> log_probabilities;
  size_t vocabulary = 0;  // number of tokens of the model

  /// Returns the first `count` candidates, or all if there are fewer.
  RowCandidates first(size_t count) const {
    count = std::min(count, tokens.size());
    return {tokens.first(count), log_probabilities.first(count), vocabulary};
  }
};

/// Returns the number of candidates per row that a beam search looks at: as many as it considers in a step,
/// and as many as the options may forbid or disfavour.
int64_t considered_candidates(const GenerationOptions& options);
/// Returns whether a beam search with these options finds the same sequences by the candidates of each row as
/// by its logits. This is so if the options only forbid or disfavour few tokens: enough candidates are left
/// in any case.
bool candidates_suffice(const GenerationOptions& options);

}  // namespace smelt
