// Assignment of the nodes of a model's forward graph to the parts of a pipeline.
//
// The graph is cut after values of its residual stream (passes/graph/autodiff/trunk.h) so that the most
// expensive part is as cheap as possible. Only matrix products count, because the other nodes fuse with them.
#pragma once

#include <vector>

#include "ir/analysis/node_seconds.h"
#include "ir/graph/graph.h"
#include "llvm/ADT/DenseMap.h"

namespace smelt {

/// Ends of all parts but the last, as indices of values of the residual stream. They are valid for all graphs
/// with the same residual stream, such as the one without dropouts.
using PartEnds = std::vector<size_t>;

/// Chooses the ends. Throws Error if the residual stream has too few values for `parts` parts.
PartEnds choose_part_ends(const Graph& graph, int64_t parts, const NodeSecondsOptions& time);

/// Returns the part of each node: the number of ends before it in program order. Throws Error if the graph's
/// residual stream has no such values.
llvm::DenseMap<const Node*, int64_t> assign_parts(const Graph& graph, const PartEnds& ends);

}  // namespace smelt
