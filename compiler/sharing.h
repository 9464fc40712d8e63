// What ranks that train together share, where the order of the compiler depends on it.
#pragma once

#include <string>
#include <vector>

#include "compiler/compile.h"
#include "passes/pass_manager.h"
#include "passes/sharding/shard_training.h"

namespace smelt {

/// Whether ranks have parts of any parameter.
bool shares_parameters(const Module& module);
/// Records which parameters must be neighbours so that matrices which share an input are one. Of parameters
/// that ranks share that happens in the graph of one rank, since ranks cut inside of each of them. `manager`
/// is empty.
void plan_neighbours(Module& module, PassManager manager);
/// The stages of a pipeline; 1 where there is none.
int64_t pipeline_stages(const Mesh& mesh);

/// Annotates what data-parallel training shares; the outputs of which ranks give addends.
std::vector<std::string> share_batches(Module& module, const ShardTrainingOptions& options);

/// Ranks take parts of every batch, and of sequences where the options say so; how they share all else
/// follows, and graphs become those of one rank. Belongs behind rewrite_reductions, so that a maximum and a
/// sum that ranks share are steps of their own. Nothing where the module has no mesh or is partitioned.
/// `result` gets the time of the passes and what --explain-sharding shows.
void share_over_ranks(Module& module, const CompileOptions& options, const Target& target,
                      const ShardTrainingOptions& sharing, Compilation& result);

}  // namespace smelt
