// Which part of a pipeline each node of a model's forward graph belongs to.
//
// The graph is cut behind values of its residual trunk (passes/autodiff/trunk.h), so that the most costly of
// the parts costs as little as can be: matrix products count, which all else is fused with.
#pragma once

#include <vector>

#include "ir/analysis/node_seconds.h"
#include "ir/graph.h"
#include "llvm/ADT/DenseMap.h"

namespace smelt {

/// Ends of all parts but the last, as numbers of the trunk's values in order: for one graph of a model and
/// for others of the same trunk, such as the one without dropouts.
using PartEnds = std::vector<size_t>;

/// Throws Error where the trunk has fewer values than that takes.
PartEnds choose_part_ends(const Graph& graph, int64_t parts, const NodeSecondsOptions& time);

/// The part of each node: as many ends as lie in front of it in program order. Throws Error where the graph's
/// trunk has no such values.
llvm::DenseMap<const Node*, int64_t> assign_parts(const Graph& graph, const PartEnds& ends);

}  // namespace smelt
