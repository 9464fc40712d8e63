// Sums over ranks.
#pragma once

#include "ir/graph/graph.h"
#include "ir/pass_options.h"
#include "llvm/ADT/DenseMap.h"
#include "passes/graph/sharding/assignment.h"

namespace smelt {

// ---- join_sums.cpp
// join_sums: joins small all_reduces over the same ranks that one `pack` reads into one all_reduce of their
// concat.
//
//   pack (all_reduce %a), (all_reduce %b)    =>    %s = all_reduce (concat %a, %b), then slices of %s
//
// Ranks that share sequences have addends of the gradients of every norm and bias. Each separate sum takes as
// long as one of a megabyte does. Requires: operands of a pack do not depend on each other's sums. Ensures:
// elements keep their addends, so no value changes.

struct JoinSumsOptions {
  int64_t most_bytes = 1 << 20;  // of a sum that is joined
};
template <typename Field>
void visit_options(Field& field, JoinSumsOptions& o) {
  field("most_bytes", o.most_bytes);
}
bool join_sums(Graph& graph, const JoinSumsOptions& options);

// ---- partial_sums.cpp
// Placement of sums over ranks. A value is partial over an axis if its ranks hold addends of it. Operations
// that are linear in it return partial values, until one needs the sum. The sum is made once for all users,
// where it moves the fewest bytes: gradients of weights are summed after the `pack` that makes them one flat
// value, not one by one.

/// Returns whether the node makes addends of its results from addends of the operands that are partial, in
/// exact arithmetic and without a rounding that the sum would not have.
bool passes_partial(const Node& node, llvm::function_ref<bool(unsigned)> is_partial);

/// Adds to each value's sharding the axes over which it stays partial. A sharding that was annotated in the
/// graph (`fixed`) stays as it is.
void keep_partial_sums(const Graph& graph, const Assignments& assignments,
                       llvm::DenseMap<const Value*, Sharding>& shardings,
                       llvm::function_ref<bool(const Value*)> fixed);

// ---- reassociate_sums.cpp
// reassociate_sums: adds addends on each rank before they are summed over ranks, not after.
//
//   sum(a) + sum(b)            ->  sum(a + b)
//   (x + sum(a)) + sum(b)      ->  x + sum(a + b)
//
// Here sum is all_reduce or reduce_scatter by add, over one axis and into one dim. The gradients of three
// projections towards their common operand then cost one collective, and merge_gemms merges their matmuls.
// The additions form one tree whose inner values have no other reader; a convert ends a tree, so that a value
// that is rounded before an addition stays rounded. Runs after partition and before join_sums and
// merge_gemms. Ensures: values differ only by the order of float additions.

struct ReassociateSumsOptions {};
bool reassociate_sums(Graph& graph, const ReassociateSumsOptions& options);

}  // namespace smelt
