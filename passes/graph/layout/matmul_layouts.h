// Order in memory of a temporary's dims, chosen so that the matmuls that make or read the temporary have few
// dims. Dims of one kind (batch, rows or columns) collapse into one dim if they are adjacent in memory. For
// example, heads [b,t,h,d] that are stored in the order [b,h,t,d] are matrices [t,d] with one batch dim b*h.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph/graph.h"

namespace smelt {

/// The matmuls of `value` are the one that makes it and those that read it, directly or through views.
/// Returns the strides of `value` with which these matmuls have the fewest dims after the collapse. The last
/// dim is innermost, the distance between rows is `pitch` elements, and there are no other gaps. Returns
/// nothing if no order is better than row-major, or if a view of the value would need a copy.
std::optional<std::vector<Dim>> matmul_strides(const Value& value, const Dim& pitch);

}  // namespace smelt
