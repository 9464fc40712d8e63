// A sequence of tokens before it is joined with others.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/tokenizers/encoding.h"

namespace smelt {

/// White space at both ends of a token's text, in code points.
struct Blanks {
  uint32_t leading = 0, trailing = 0;
};

/// A sequence, or the tokens added between sequences.
struct EncodedPart {
  Encoding encoding;
  std::vector<Blanks> blanks;  // of each token; empty if not requested
};

/// Drops tokens so that the sequences (one, or the two of a pair) have together at most `max_length`. Throws
/// Error if the strategy cannot do that.
void truncate(std::span<EncodedPart> sequences, const Truncation& truncation, size_t max_length);

}  // namespace smelt
