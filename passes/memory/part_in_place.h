// Values that take the place of the part of a larger value which they are computed from, such as rotated
// queries, which are computed where those of the merged product lie: what is kept of the product for its
// other parts has room for them.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"

namespace smelt {

/// `views` look at the part, the one next to `whole` first.
struct PartInPlace {
  Value* whole = nullptr;
  std::vector<const Node*> views;
};

/// For a result of a fusion, or a concat of such, of the part's shape: the fusion alone reads the part, each
/// element where it writes that, and what reads the value reads other parts of the whole, too, so that
/// nothing lives longer. Attentions alone read it: matmuls may want it to lie otherwise.
std::optional<PartInPlace> part_in_place(const Value& value);

/// Whether a fusion, of one sweep, reads the operand's elements where it writes those of the result.
bool body_reads_elementwise(const Node& fusion, const Value& operand, const Value& result);

}  // namespace smelt
