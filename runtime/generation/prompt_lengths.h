// Lengths of runs over a prompt. On a GPU each length is an entry whose launches are worked out, tuned and
// captured for it, so prompts are padded to a few: powers of two and the numbers half-way between large ones,
// the longest run, and what a row holds.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <string_view>

#include "runtime/dim.h"

namespace smelt {

inline constexpr size_t kLeastPaddedLength = 16, kLeastHalfWay = 96;

/// Whether a plan for this target pads its runs.
inline bool pads_runs(std::string_view target) { return target.starts_with("sm_"); }

/// For `length` tokens of runs of up to `longest`, where a row holds `capacity`; at least `length`.
inline size_t padded_length(size_t length, size_t longest, size_t capacity) {
  const size_t power = std::max(kLeastPaddedLength, std::bit_ceil(length)), half_way = power / 4 * 3;
  const bool is_half = half_way >= kLeastHalfWay && length <= half_way;
  return std::max(length, std::min({is_half ? half_way : power, longest, capacity}));
}

/// The most that the bounds of symbols let one be, beside the values that others have.
size_t most_beside(const Symbols& symbols, std::string_view symbol, const SymbolValues& others);

}  // namespace smelt
