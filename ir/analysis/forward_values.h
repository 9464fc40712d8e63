// The values from which the results of a graph's forward phase are computed.
#pragma once

#include "ir/graph/graph.h"
#include "llvm/ADT/DenseSet.h"

namespace smelt {

/// Returns the outputs of the graph that nodes of the forward phase compute, the operands of updates in that
/// phase, and all values from which these are computed. A gradient is not among them, even if the node that
/// computes it has been moved to the forward phase.
llvm::DenseSet<const Value*> forward_values(const Graph& graph);

}  // namespace smelt
