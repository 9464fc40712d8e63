// shard_sequences: annotates the residual stream for sequence parallelism (Korthikanti et al., 2022,
// "Reducing Activation Recomputation in Large Transformer Models", arXiv:2205.05198).
//
//   y = all_reduce(x w)        =>    y = reduce_scatter(x w) along the sequence
//   z = norm(y)                      z = norm(y), on the rank's own positions
//   matmul z, ..                     matmul all_gather(z), ..
//
// In tensor parallelism, addends of the residual stream are summed over ranks. Then every rank computes the
// same norms, dropout and additions for all positions. This pass shards each such sum along the sequence
// instead: a rank gets the sum of its own positions and computes on those, and operands of matrix products
// are gathered. A reduce_scatter and a gather move the bytes of one all_reduce, while the computation in
// between and the values kept for backward are divided by the number of ranks. To find the sums over ranks,
// the pass runs propagate_shardings on a copy of the module. A dim of a value, except the last, is the
// sequence if its size is that of the second dim of an input. This size must be a symbol, and must differ
// from the size of the input's first dim. Inputs without annotation are annotated as whole. Runs after
// shard_training and before propagate_shardings. Ensures: existing annotations stay; no value changes.
#pragma once

#include <string>

#include "ir/graph/graph.h"
#include "ir/pass_options.h"

namespace smelt {

struct ShardSequencesOptions {
  std::string axis = "model";  // mesh axis along which ranks share parameters
};
template <typename Field>
void visit_options(Field& field, ShardSequencesOptions& o) {
  field("axis", o.axis);
}
/// Annotates the values; returns whether it annotated any. Does nothing if the mesh lacks this axis, if the
/// axis has only one rank, or if the pass partition has run.
bool shard_sequences(Module& module, const ShardSequencesOptions& options);

}  // namespace smelt
