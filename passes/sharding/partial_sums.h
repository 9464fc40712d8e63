// Where sums over ranks stay unfinished. A value is partial over an axis where its ranks hold addends of it;
// operations that are linear in it make partial values of it, until one needs the sum. The sum is made once
// for all users, and where it moves the fewest bytes: gradients of weights are summed behind the `pack` that
// makes them one flat value, not one by one.
#pragma once

#include "llvm/ADT/DenseMap.h"
#include "passes/sharding/assignment.h"

namespace smelt {

/// Whether the node makes addends of its results from addends of those operands that are partial, in exact
/// arithmetic and without a rounding that the sum would not have.
bool passes_partial(const Node& node, llvm::function_ref<bool(unsigned)> is_partial);

/// Adds to each value's sharding the axes over which it stays partial. Where a sharding was written with the
/// graph (`fixed`) it stays as it is.
void keep_partial_sums(const Graph& graph, const Assignments& assignments,
                       llvm::DenseMap<const Value*, Sharding>& shardings,
                       llvm::function_ref<bool(const Value*)> fixed);

}  // namespace smelt
