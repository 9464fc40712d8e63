// Values that are computed from one part of a larger value, and overwrite this part. For example, a merged
// projection contains queries, keys and values. The rotated queries are computed in the memory of the
// queries, because the memory of the whole projection is kept for keys and values anyway.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph/graph.h"

namespace smelt {

/// Part of the value `whole`: the result of the chain of `views`, of which the first one views `whole`.
struct PartInPlace {
  Value* whole = nullptr;
  std::vector<const Node*> views;
};

/// Returns the part that `value` may overwrite, or nothing if a condition fails:
///   - `value` is a result of a fusion, or a concat of results of one fusion, and has the type of the part;
///   - the whole is the result of a matmul, and neither the whole nor `value` is an output of the graph;
///   - only this fusion reads the part. To compute an element of `value`, it reads no other element of the
///     part than the one that this element overwrites;
///   - all readers of `value` also read another part of the whole, so the whole stays in memory until the
///     last of them has run;
///   - all readers of `value` are attentions or their gradients, because a matmul might need another layout.
std::optional<PartInPlace> part_in_place(const Value& value);

/// Returns whether the fusion loops over its elements only once, and computes each element of `result` from
/// at most one element of `operand`: the one at the same index.
bool body_reads_elementwise(const Node& fusion, const Value& operand, const Value& result);

}  // namespace smelt
