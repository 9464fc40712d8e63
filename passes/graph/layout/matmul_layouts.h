// Memory order of a temporary's dims for which the letters of its matmuls collapse: the heads of [b,t,h,d]
// are rows of t for every b and h if stored as [b,h,t,d], and one matrix per group of heads.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph/graph.h"

namespace smelt {

/// Returns dense strides for `value`, whose last dim stays innermost with rows of `pitch` elements, for which
/// the matmuls that make and read it (directly or through views) have the fewest dims. Returns nothing if
/// row-major is as good or a view of the value would need a copy.
std::optional<std::vector<Dim>> matmul_strides(const Value& value, const Dim& pitch);

}  // namespace smelt
