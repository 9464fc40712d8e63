// shard_training: annotates inputs and flat states for data-parallel training; propagate_shardings derives
// all other shardings.
//
//   graph @train_step(%x: i32[B,T])          graph @train_step(%x: i32[B,T] on [data, -])
//   state "moment1" : f32[..]          =>    state "moment1" : f32[..] on [-, data, -]   (zero >= 1)
//
// If the module has training entries, inputs whose first dim is the batch symbol (B in the example) are
// sharded along that dim. To find the batch symbol, the pass searches the inputs of these entries for the
// first one whose first dim is a symbol. Without training entries, all inputs whose first dim is a symbol are
// sharded along it. If an update has several micro-steps, each rank sums its gradients over the micro-steps.
// The sums are added over ranks only when the update is applied. With `zero`, flat states
// (flatten_parameters.h) are sharded (Rajbhandari et al., 2020, "ZeRO", arXiv:1910.02054). A flat state of
// several ranks is [buckets, rows, row], and is sharded along its rows, so each rank has a part of each
// bucket. Stage 1 shards the states of the optimizer. It also shards the f32 parameters if they have a
// rounded copy, because forward and backward read only the copy. Stage 2 also shards the sums of gradients,
// and stage 3 all other parameters.
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
  int64_t bucket = 0;                        // most elements per bucket; 0: a default that depends on `zero`
};
template <typename Field>
void visit_options(Field& field, ShardTrainingOptions& o) {
  field("axes", o.axes), field("zero", o.zero), field("bucket", o.bucket);
}
/// Returns a copy of the options `flat` with which flatten_parameters divides flat states into buckets, and
/// each bucket into equal parts for the ranks along `options.axes`. Axes that the mesh lacks are ignored.
/// Returns `flat` unchanged for ZeRO stage 0 or a single rank.
FlattenParametersOptions in_buckets(FlattenParametersOptions flat, const Mesh& mesh,
                                    const ShardTrainingOptions& options);
/// Annotates the module; returns whether anything changed. Does nothing without a mesh or after partition.
/// Throws Error if the mesh lacks one of the axes. Also throws Error if the first dim of an input of a
/// training entry is not the batch symbol; the message lists all such inputs. Optional, scalar and annotated
/// inputs are not checked.
bool shard_training(Module& module, const ShardTrainingOptions& options);

}  // namespace smelt
