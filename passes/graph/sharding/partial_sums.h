// Placement of sums over ranks. A value is partial over an axis if its ranks hold addends of it. Operations
// that are linear in it return partial values, until one needs the sum. The sum is made once for all users,
// where it moves the fewest bytes: gradients of weights are summed after the `pack` that makes them one flat
// value, not one by one.
#pragma once

#include "llvm/ADT/DenseMap.h"
#include "passes/graph/sharding/assignment.h"

namespace smelt {

/// Returns whether the node makes addends of its results from addends of the operands that are partial, in
/// exact arithmetic and without a rounding that the sum would not have.
bool passes_partial(const Node& node, llvm::function_ref<bool(unsigned)> is_partial);

/// Adds to each value's sharding the axes over which it stays partial. A sharding that was annotated in the
/// graph (`fixed`) stays as it is.
void keep_partial_sums(const Graph& graph, const Assignments& assignments,
                       llvm::DenseMap<const Value*, Sharding>& shardings,
                       llvm::function_ref<bool(const Value*)> fixed);

}  // namespace smelt
