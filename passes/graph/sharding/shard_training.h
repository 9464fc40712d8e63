// shard_training: annotates inputs and flat states for data-parallel training; propagate_shardings derives
// all other shardings.
//
//   graph @train_step(%x: i32[B,T])          graph @train_step(%x: i32[B,T] on [data, -])
//   state "moment1" : f32[..]          =>    state "moment1" : f32[..] on [-, data, -]   (zero >= 1)
//
// An input whose first dim is a symbol is sharded along that dim. If the module has training entries, an
// input is sharded only if that symbol is the batch symbol. Among the inputs of these entries, the first one
// with a symbol as its first dim defines the batch symbol. Sums of gradients over micro-steps stay partial,
// one addend per rank, and are reduced over ranks when they are applied. With `zero`, flat states
// (flatten_parameters.h) are sharded (Rajbhandari et al., 2020, "ZeRO", arXiv:1910.02054). Stage 1 shards the
// states of the optimizer. It also shards the f32 parameters if they have a rounded copy, because forward and
// backward read only the copy. Stage 2 also shards the sums of gradients, and stage 3 all other parameters.
// Ensures: existing annotations stay; no value changes.
#pragma once

#include <string>
#include <vector>

#include "ir/pass_options.h"
#include "passes/graph/training/flatten_parameters.h"

namespace smelt {

struct ShardTrainingOptions {
  std::vector<std::string> axes = {"data"};  // mesh axes that cut batches, the outermost first
  int zero = 0;                              // ZeRO stage, 0 to 3
  int64_t bucket = 0;                        // most elements per bucket of sharded states; 0: a default
};
template <typename Field>
void visit_options(Field& field, ShardTrainingOptions& o) {
  field("axes", o.axes), field("zero", o.zero), field("bucket", o.bucket);
}
/// Returns options for flatten_parameters: `flat` with buckets that the ranks along the options' axes share.
/// Axes that the mesh lacks are ignored. Returns `flat` unchanged for ZeRO stage 0 or a single rank.
FlattenParametersOptions in_buckets(FlattenParametersOptions flat, const Mesh& mesh,
                                    const ShardTrainingOptions& options);
/// Annotates the module; returns whether anything changed. Does nothing without a mesh or after partition.
/// Throws Error if the mesh lacks one of the axes. Also throws one Error with every input of a training entry
/// whose first dim is not the batch symbol, because each rank feeds a batch of its own, while the graph would
/// treat such an input as equal on all ranks. Optional, scalar and annotated inputs are not checked.
bool shard_training(Module& module, const ShardTrainingOptions& options);

}  // namespace smelt
