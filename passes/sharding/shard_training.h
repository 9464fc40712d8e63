// shard_training: the annotations of data-parallel training, from which propagate_shardings derives the rest.
//
// Batches are cut: the first dim of every input where that is a symbol, in a module with entries of training
// the symbol that leads theirs. Sums that micro-steps add to stay
// addends of the ranks, and are reduced where they are applied. With `zero`, flat states are cut (Rajbhandari
// et al., 2020, "ZeRO", arXiv:1910.02054): from stage 1 on those of the optimizer, and parameters that have a
// rounded copy, which alone entries read; from stage 2 on sums of gradients; from stage 3 on all parameters.
// Contract: what is annotated already stays as it is; no value changes.
#pragma once

#include <string>
#include <vector>

#include "passes/training/flatten_parameters.h"

namespace smelt {

struct ShardTrainingOptions {
  std::vector<std::string> axes = {"data"};  // of the mesh, over which batches are cut, the first outermost
  int zero = 0;                              // ZeRO's stage: which flat states are cut
  int64_t bucket = 0;                        // elements of a bucket of them; 0: as was fastest
};
/// What flatten_parameters is to make of the flat states that the stage cuts: buckets for the ranks along the
/// axes, of which the mesh may have none. Belongs before it; `flat` comes back as it is where nothing is cut.
FlattenParametersOptions in_buckets(FlattenParametersOptions flat, const Module& module,
                                    const ShardTrainingOptions& options);
/// Nothing changes in a module without a mesh. Throws Error where the mesh has no such axis, and
/// one that names every input of @train_step, @accumulate and @evaluate whose first dim is not the batch's:
/// ranks would feed different numbers where the graph has one. Optional inputs, numbers and those that are
/// annotated are left out.
bool shard_training(Module& module, const ShardTrainingOptions& options);
/// axes = "pod+data", zero = "0" to "3"
void set_option(ShardTrainingOptions& options, std::string_view key, std::string_view value);

}  // namespace smelt
