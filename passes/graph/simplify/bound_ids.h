// bound_ids: finds the range of numbers that an integer input may hold, from its uses as an index.
//
//   gather(table[50257,c], ids)              ids in [0, 50257)
//   cross_entropy(logits[..., 131], labels)  labels in [0, 131), or its ignore_index
//   gather(t, select(ne(x, -1), x, 0))       x in the rows of t, or -1
//   gather(t[66,c], x + 2)                   x in [-2, 64)
//   gather(t[66,c], select(x < 0, x + 66, x))    x in [-66, 66)
//
// If no such range bounds the targets of a cross_entropy, they become a gather from the classes, so that
// guard_indices checks them: cross_entropy(logits[..., 131], x) -> cross_entropy(logits, gather(iota[131],
// x)).
//
// Indices are followed back through views, concat, conversions between integers, added constants and such
// selects, to the inputs, whose attributes {below, ignored, least} are set. lower copies them to the plan's
// ports, and sessions reject other numbers. Ensures: only numbers that are certainly outside a table are
// excluded. An input that is read in parts gets the widest range of its parts, and no range if one part is no
// index. An index that takes part in other arithmetic, or a table whose extent is known only at launch, gives
// no range. Runs before decompose, which decomposes cross_entropy. An input keeps a narrower range that it
// already declares.
#pragma once

#include "ir/graph/graph.h"

namespace smelt {

struct BoundIdsOptions {};
bool bound_ids(Graph& graph, const BoundIdsOptions& options);

}  // namespace smelt
