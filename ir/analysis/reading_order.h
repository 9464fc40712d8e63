// The nodes of a body in an order that its structure alone decides: bodies that compute the same in the same
// way have it in common, wherever passes have put their nodes.
#pragma once

#include "ir/graph.h"
#include "llvm/ADT/SmallVector.h"

namespace smelt {

/// Inputs, then what the first output is computed from, operands first, then the same for the next one, and
/// so on; at the end what no output needs.
llvm::SmallVector<const Node*> reading_order(const Graph& body);

}  // namespace smelt
