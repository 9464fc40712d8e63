// shard_training: annotates inputs and flat states for data-parallel training; propagate_shardings derives
// the rest.
//
//   graph @train_step(%x: i32[B,T])          graph @train_step(%x: i32[B,T] on [data, -])
//   state "moment1" : f32[..]          =>    state "moment1" : f32[..] on [-, data, -]   (zero >= 1)
//
// Batches are sharded: the first dim of every input if that is a symbol; in a module with entries of
// training, the symbol that leads their inputs. Sums over micro-steps stay addends of the ranks, and are
// reduced when they are applied. With `zero`, flat states are sharded (Rajbhandari et al., 2020, "ZeRO",
// arXiv:1910.02054): from stage 1 on those of the optimizer, and parameters with a rounded copy, because
// entries read only the copy; from stage 2 on sums of gradients; from stage 3 on all parameters. Ensures:
// existing annotations stay; no value changes.
#pragma once

#include <string>
#include <vector>

#include "ir/pass_options.h"
#include "passes/graph/training/flatten_parameters.h"

namespace smelt {

struct ShardTrainingOptions {
  std::vector<std::string> axes = {"data"};  // of the mesh, over which batches are cut, the first outermost
  int zero = 0;                              // ZeRO stage: which flat states are sharded
  int64_t bucket = 0;                        // elements per bucket of them; 0: the fastest in measurements
};
template <typename Field>
void visit_options(Field& field, ShardTrainingOptions& o) {
  field("axes", o.axes), field("zero", o.zero), field("bucket", o.bucket);
}
/// Returns `flat` with buckets for the ranks along `axes`, of which the mesh may lack some, if the ZeRO stage
/// shards flat states; otherwise `flat` unchanged. Runs before flatten_parameters.
FlattenParametersOptions in_buckets(FlattenParametersOptions flat, const Mesh& mesh,
                                    const ShardTrainingOptions& options);
/// Annotates the module; does nothing without a mesh. Throws Error if the mesh has no such axis. Also throws
/// one Error with every input of @train_step, @accumulate and @evaluate whose first dim is not that of the
/// batch, because ranks would feed different sizes where the graph has one. Optional, scalar and annotated
/// inputs are ignored.
bool shard_training(Module& module, const ShardTrainingOptions& options);

}  // namespace smelt
