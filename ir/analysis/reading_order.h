// Canonical order of the nodes of a body, which depends only on its structure: equal computations have the
// same order, even if passes have placed their nodes differently.
#pragma once

#include "ir/graph/graph.h"
#include "llvm/ADT/SmallVector.h"

namespace smelt {

/// Returns inputs, then the nodes of the first output, operands first, then those of the next output, and so
/// on; unused nodes are last.
llvm::SmallVector<const Node*> reading_order(const Graph& body);

}  // namespace smelt
