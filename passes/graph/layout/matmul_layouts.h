// Memory order of a temporary's dims that lets its matmuls have few dims. Adjacent dims of one kind (batch,
// rows or columns) collapse into one dim if their strides fit. For example, heads [b,t,h,d] that are stored
// in the order [b,h,t,d] are matrices [t,d] with one batch dim b*h.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph/graph.h"

namespace smelt {

/// Returns the strides of `value` that give its matmuls the fewest dims. Its matmuls are the one that makes
/// it and those that read it, directly or through views. The last dim is innermost, the distance between rows
/// is `pitch` elements, and there are no other gaps. Returns nothing if no order is better than row-major, or
/// if a view of the value would need a copy.
std::optional<std::vector<Dim>> matmul_strides(const Value& value, const Dim& pitch);

}  // namespace smelt
