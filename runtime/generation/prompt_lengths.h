// Lengths of runs over a prompt. On a GPU each length is an entry whose launches are worked out, tuned and
// captured for it, so prompts are padded to a few: powers of two, the longest run, and what a row holds.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>

namespace smelt {

inline constexpr size_t kLeastPaddedLength = 16;

/// For `length` tokens of runs of up to `longest`, where a row holds `capacity`; at least `length`.
inline size_t padded_length(size_t length, size_t longest, size_t capacity) {
  const size_t power = std::max(kLeastPaddedLength, std::bit_ceil(length));
  return std::max(length, std::min({power, longest, capacity}));
}

}  // namespace smelt
