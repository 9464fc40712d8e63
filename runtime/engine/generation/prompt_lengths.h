// Lengths of runs over a prompt. A device that captures runs (DeviceKind::captures_runs) resolves, tunes and
// captures the launches of each length, so prompts are padded to a few lengths: powers of two and the
// midpoints between large ones, the longest run, and the capacity of a row.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <string_view>

#include "runtime/base/dim.h"

namespace smelt {

inline constexpr size_t kLeastPaddedLength = 16, kLeastHalfWay = 96;

/// Returns the padded length of `length` tokens, for runs of up to `longest` in rows of `capacity`; at least
/// `length`.
inline size_t padded_length(size_t length, size_t longest, size_t capacity) {
  const size_t power = std::max(kLeastPaddedLength, std::bit_ceil(length)), half_way = power / 4 * 3;
  const bool is_half = half_way >= kLeastHalfWay && length <= half_way;
  return std::max(length, std::min({is_half ? half_way : power, longest, capacity}));
}

/// Returns the maximum of a symbol under the bounds, given the values of the others.
size_t most_beside(const Symbols& symbols, std::string_view symbol, const SymbolValues& others);

}  // namespace smelt
