// Where the dims of a temporary should lie so that the letters of its matmuls collapse: the heads of
// [b,t,h,d] are rows of t for every b and h if they lie as [b,h,t,d], and one matrix for a group of them.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"

namespace smelt {

/// Dense strides for `value`, whose last dim stays innermost with rows of `pitch` elements, under which the
/// matmuls that make it and read it (directly or through views) have the fewest dims. Nothing where
/// row-major is as good, or where a view of it would need a copy.
std::optional<std::vector<Dim>> matmul_strides(const Value& value, const Dim& pitch);

}  // namespace smelt
