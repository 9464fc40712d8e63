// bound_ids: derives, from the uses of an integer input as an index, the range of numbers that the input may
// hold.
//
//   gather(table[50257,c], ids)              ids in [0, 50257)
//   cross_entropy(logits[..., 131], labels)  labels in [0, 131), or its ignore_index
//   gather(t, select(ne(x, -1), x, 0))       x in the rows of t, or -1
//   gather(t[66,c], x + 2)                   x in [-2, 64)
//   gather(t[66,c], select(x < 0, x + 66, x))    x in [-66, 66)
//
// The labels of a cross_entropy are indices of classes. If ir/analysis/index_ranges.h does not prove that
// they are in range, the pass replaces those that are not ignore_index with a gather from the list of all
// classes, so that guard_indices checks them when the plan runs:
// cross_entropy(logits[..., 131], x) -> cross_entropy(logits, gather(iota[131], x)).
//
// The pass follows indices back through views, concat, conversions between integers, added constants and
// selects as above, to the inputs. It sets the attributes {below, ignored, least} of an input: its numbers
// are in [least, below), or equal to `ignored`. The pass `lower` copies the attributes to the plan's ports,
// and sessions reject other numbers. Ensures: only numbers that are certainly outside a table are excluded.
//
// If several uses read the whole input, its range satisfies all of them. A use in other arithmetic, or as an
// index into a table whose extent is known only at launch, sets no limit. If only slices of an input are
// read, its range is the smallest one that contains the ranges of all slices, and there is none if a slice
// has none. An input keeps a narrower range that it already declares. Runs before decompose, which decomposes
// cross_entropy.
#pragma once

#include "ir/graph/graph.h"

namespace smelt {

struct BoundIdsOptions {};
/// Sets the ranges and replaces the labels; returns whether anything changed.
bool bound_ids(Graph& graph, const BoundIdsOptions& options);

}  // namespace smelt
