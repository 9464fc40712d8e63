// Padded lengths of prompts. A device that captures graphs (DeviceKind::captures_runs) prepares and captures
// the launches anew for each length that occurs. So prompts are padded to one of a few lengths: powers of
// two, numbers halfway between large powers of two, the most tokens of a run, and the capacity of a row in
// tokens.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <string_view>

#include "runtime/base/dim.h"

namespace smelt {

/// The smallest padded length, and the smallest padded length that is halfway between two powers of two.
inline constexpr size_t kLeastPaddedLength = 16, kLeastHalfWay = 96;

/// Returns the padded length of `length` tokens, at least `length`. `longest`: the most tokens of a run;
/// `capacity`: the most tokens of a row.
inline size_t padded_length(size_t length, size_t longest, size_t capacity) {
  const size_t power = std::max(kLeastPaddedLength, std::bit_ceil(length)), half_way = power / 4 * 3;
  const bool is_half = half_way >= kLeastHalfWay && length <= half_way;
  return std::max(length, std::min({is_half ? half_way : power, longest, capacity}));
}

/// Returns the padded size of a run. `count` is the number of rows of the run, or the number of tokens of all
/// its rows. The result is the smallest number of 1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, ... and `most`
/// that is at least `count`. Requires: `count` is from 1 to `most`.
inline size_t padded_size(size_t count, size_t most) {
  constexpr size_t kLeastHalf = 24;
  const size_t power = std::bit_ceil(count), half_way = power / 4 * 3;
  return std::min(half_way >= kLeastHalf && count <= half_way ? half_way : power, most);
}

/// Returns the largest value of `symbol` that satisfies the bounds of the plan's symbols, given values of
/// other symbols: a bound may limit a product of symbols.
size_t most_beside(const Symbols& symbols, std::string_view symbol, const SymbolValues& others);

}  // namespace smelt
