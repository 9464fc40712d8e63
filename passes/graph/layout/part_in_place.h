// Values that overwrite the part of a larger value that they are computed from. For example, rotated queries
// are computed in the memory of the queries in a merged projection, because that memory is kept anyway for
// the other parts.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph/graph.h"

namespace smelt {

/// Part of `whole`, seen through `views`; the first view is the one of `whole`.
struct PartInPlace {
  Value* whole = nullptr;
  std::vector<const Node*> views;
};

/// Returns the part that `value` may overwrite. `value` is a result of a fusion, or a concat of such results,
/// with the shape of the part. Only the fusion reads the part, and reads each element where it writes the new
/// one. The readers of `value` also read other parts of the whole, so no lifetime grows. Only attentions may
/// read `value`, because a matmul may need another layout.
std::optional<PartInPlace> part_in_place(const Value& value);

/// Returns whether a fusion of one sweep reads each element of the operand where it writes that of the
/// result.
bool body_reads_elementwise(const Node& fusion, const Value& operand, const Value& result);

}  // namespace smelt
