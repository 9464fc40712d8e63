// The parts from which an encoding is concatenated (encoded sequences and special tokens), and truncation of
// the sequences.
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
/// tokens. `max_length` is truncation.max_length minus the number of special tokens that will be added.
/// Throws Error if the sequence that the strategy (Truncation::Strategy) shortens is missing or has too few
/// tokens.
void truncate(std::span<EncodedPart> sequences, const Truncation& truncation, size_t max_length);

}  // namespace smelt
