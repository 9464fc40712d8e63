// shard_sequences: the annotations of sequence parallelism (Korthikanti et al., 2022, "Reducing Activation
// Recomputation in Large Transformer Models", arXiv:2205.05198).
//
// Where ranks share parameters they sum rows of the residual stream, and then all of them compute the same
// norms, dropout and additions on all rows. Here each such sum is cut along the sequence instead: a rank gets
// the sum of its own positions, works on those, and what a product reads is gathered. A sum and a gather
// move the bytes of the sum for all, while the work between and what backward keeps of it are divided. Which
// values are sums over ranks is derived as propagate_shardings does; a sequence is what the second dim of an
// input is long. Belongs behind shard_training and before propagate_shardings. Contract: what is annotated
// already stays as it is; no value changes.
#pragma once

#include <string>

#include "ir/graph.h"

namespace smelt {

struct ShardSequencesOptions {
  std::string axis = "model";
};
/// Nothing changes where the mesh has no such axis, or after partition.
bool shard_sequences(Module& module, const ShardSequencesOptions& options);
/// axis = "model"
void set_option(ShardSequencesOptions& options, std::string_view key, std::string_view value);

}  // namespace smelt
