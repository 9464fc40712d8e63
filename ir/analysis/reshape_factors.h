// Common factors of the dims of a reshape's operand and result.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph/graph.h"

namespace smelt {

struct ReshapeFactor {
  Dim size;
  std::optional<size_t> from, to;  // dims of operand and result that contain the factor; nothing: none does
  bool is_clear = true;            // false: not a common factor, but a dim, or rest of a dim, without one
};
/// Returns the factors of a reshape of shape `from` to shape `to` in row-major order: [B,T,8] -> [B*T,8] has
/// B, T and 8; [6,4] -> [8,3] has no clear factor. Once a pair of dims has no common factor, no later factor
/// is clear.
std::vector<ReshapeFactor> reshape_factors(const Shape& from, const Shape& to);

}  // namespace smelt
