// Canonical order of the nodes of a body. It depends only on the data flow: bodies with equal nodes and edges
// get the same order, even if passes have inserted their nodes in different orders.
#pragma once

#include "ir/graph/graph.h"
#include "llvm/ADT/SmallVector.h"

namespace smelt {

/// Returns the nodes of `body`: first the inputs; then, for each output in order, the nodes that compute it
/// and are not listed yet, operands before users; last the unused nodes.
llvm::SmallVector<const Node*> reading_order(const Graph& body);

}  // namespace smelt
