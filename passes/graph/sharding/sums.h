// Passes and analyses that decide where sums over ranks are computed.
#pragma once

#include "ir/graph/graph.h"
#include "ir/pass_options.h"
#include "llvm/ADT/DenseMap.h"
#include "passes/graph/sharding/assignment.h"

namespace smelt {

// ---- join_sums.cpp
// join_sums: joins small all_reduces over the same ranks into one all_reduce of their concat, if a `pack`
// node reads their results. A pack makes one flat value of many gradients.
//
//   pack (all_reduce %a), (all_reduce %b)    =>    %s = all_reduce (concat %a, %b), then slices of %s
//
// If ranks share sequences (shard_sequences.h), each gradient of a norm or bias would otherwise have a
// separate all_reduce, which takes as long as the all_reduce of a megabyte. Requires: no operand of the pack
// depends on the all_reduce of another operand. Ensures: each element has the same addends as before, so no
// value changes.

struct JoinSumsOptions {
  int64_t most_bytes = 1 << 20;  // largest all_reduce that is joined
};
template <typename Field>
void visit_options(Field& field, JoinSumsOptions& o) {
  field("most_bytes", o.most_bytes);
}
/// Joins the all_reduces; returns whether there were any to join.
bool join_sums(Graph& graph, const JoinSumsOptions& options);

// ---- partial_sums.cpp
// Placement of sums over ranks. A value is partial over a mesh axis if each rank along the axis holds an
// addend of the value. An operation that is linear in a partial operand returns a partial result. The sum is
// computed once for all users, at the point where it moves the fewest bytes. For example, gradients of
// weights are summed after the `pack` that makes them one flat value.

/// Returns whether the node, applied to each rank's addends, returns addends of its results, up to the order
/// of float additions. `is_partial` returns whether operand i is partial; all ranks have the same values of
/// the other operands. The result is false for a convert to a type with fewer digits.
bool passes_partial(const Node& node, llvm::function_ref<bool(unsigned)> is_partial);

/// Adds to each value's sharding the axes over which the value stays partial. `shardings` has an entry for
/// every value. Values for which `fixed` returns true keep their sharding, which is an annotation of the
/// graph.
void keep_partial_sums(const Graph& graph, const Assignments& assignments,
                       llvm::DenseMap<const Value*, Sharding>& shardings,
                       llvm::function_ref<bool(const Value*)> fixed);

// ---- reassociate_sums.cpp
// reassociate_sums: adds values on each rank before they are summed over ranks, not after.
//
//   sum(a) + sum(b)            ->  sum(a + b)
//   (x + sum(a)) + sum(b)      ->  x + sum(a + b)
//
// Here sum is an all_reduce or reduce_scatter that adds; the joined sums have the same axis and dim. For
// example, the gradients that three projections return to their common operand then cost one collective, and
// merge_gemms merges their matmuls. The results of sum(a), sum(b) and the inner additions must have no other
// readers. Runs after partition and before join_sums and merge_gemms. Ensures: values differ only by the
// order of float additions.

struct ReassociateSumsOptions {};
/// Joins the sums; returns whether there were any to join.
bool reassociate_sums(Graph& graph, const ReassociateSumsOptions& options);

}  // namespace smelt
