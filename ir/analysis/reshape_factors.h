// Common factors of the dims on the two sides of a reshape.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph/graph.h"

namespace smelt {

struct ReshapeFactor {
  Dim size;
  std::optional<size_t> from, to;  // the dims that have it as a factor
  bool is_clear = true;            // it splits both sides without a remainder
};
/// Returns the factors in row-major order: [B,T,8] -> [B*T,8] has B, T and 8; [6,4] -> [8,3] has none that is
/// clear.
std::vector<ReshapeFactor> reshape_factors(const Shape& from, const Shape& to);

}  // namespace smelt
