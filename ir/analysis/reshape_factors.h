// Factors of the dims of a reshape's operand and result. Two dims that have a common factor correspond to
// each other.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph/graph.h"

namespace smelt {

/// One factor of a dim of the operand, of a dim of the result, or of both.
struct ReshapeFactor {
  Dim size;
  std::optional<size_t> from, to;  // dims of operand and result that contain the factor; nothing: none does
  /// True: a factor of both shapes, or a dim of size 1. False: the part of a dim of one shape for which no
  /// common factor with the other shape was found.
  bool is_clear = true;
};
/// Returns the factors of a reshape of shape `from` to shape `to` in row-major order: [B,T,8] -> [B*T,8] has
/// B, T and 8; [6,4] -> [8,3] has no clear factor. The shapes are compared from the first dim on. If the dim
/// of one shape divides the dim of the other, it is a factor, and the quotient is compared with the next dim.
/// If neither divides the other, the comparison ends, and the remaining dims and quotients are factors that
/// are not clear.
std::vector<ReshapeFactor> reshape_factors(const Shape& from, const Shape& to);

}  // namespace smelt
