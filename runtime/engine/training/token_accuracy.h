// The share of targets whose most probable token is the label, from the entry `logits`.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/session/batch.h"
#include "runtime/session/session.h"

namespace smelt {

/// The label that the logits at a position are about: that of the next position, as for a decoder, or that of
/// the same position, as for a masked language model.
enum class TokenTargets : uint8_t { next, same };

struct TokenCounts {
  int64_t targets = 0, correct = 0;
};

/// Throws Error if the plan's entry `logits` does not compute logits [rows, positions, tokens] from the
/// inputs of a batch: there is no such entry, or it is that of an encoder-decoder or of a classifier.
void require_token_logits(const Session& session);
/// Runs the entry `logits` on a batch and counts its targets. Labels that the loss ignores are no targets.
/// Requires: require_token_logits() has not thrown, and the rows of the batch are single sequences.
TokenCounts count_tokens(Session& session, const Batch& batch, TokenTargets targets);

}  // namespace smelt
