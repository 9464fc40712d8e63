// Assignment of the nodes of a model's forward graph to the parts of a pipeline.
//
// The graph is cut after values of its residual stream (passes/graph/autodiff/trunk.h), so that the predicted
// time of the slowest part is as short as possible. Only the times of matmuls and attention count.
#pragma once

#include <vector>

#include "ir/analysis/node_seconds.h"
#include "ir/graph/graph.h"
#include "llvm/ADT/DenseMap.h"

namespace smelt {

/// The end of each part except the last, as an index of a value of the residual stream. The first value of
/// the stream after the first matmul has the index 0. The indices are valid for all graphs with the same
/// residual stream, such as the model's graph without dropouts.
using PartEnds = std::vector<size_t>;

/// Chooses the ends of `parts` parts by the node times that `time` predicts. Throws Error if the residual
/// stream has fewer than `parts` - 1 values.
PartEnds choose_part_ends(const Graph& graph, int64_t parts, const NodeSecondsOptions& time);

/// Returns the number of the part of each node, from 0: the number of ends before the node in program order.
/// Throws Error if the graph's residual stream has too few values for these ends.
llvm::DenseMap<const Node*, int64_t> assign_parts(const Graph& graph, const PartEnds& ends);

}  // namespace smelt
