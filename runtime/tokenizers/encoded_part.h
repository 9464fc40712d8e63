// Parts of an encoding, before they are concatenated, and their truncation.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/tokenizers/encoding.h"

namespace smelt {

/// Number of white-space code points at each end of a token's text.
struct Blanks {
  uint32_t leading = 0, trailing = 0;
};

/// An encoded sequence, or the special tokens that are added before, between or after sequences.
struct EncodedPart {
  Encoding encoding;
  std::vector<Blanks> blanks;  // one per token; empty if no post-processor needs them
};

/// Removes tokens so that the sequences (one, or the two of a pair) have together at most `max_length`
/// tokens. truncation.max_length is not used, because special tokens count toward it. Throws Error if the
/// strategy cannot do that.
void truncate(std::span<EncodedPart> sequences, const Truncation& truncation, size_t max_length);

}  // namespace smelt
