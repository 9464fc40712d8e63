// shard_batches: what ranks along the axis of batches share by themselves: each takes a part of the batch.
//
// Inputs of a graph that trains (@train_step, @accumulate) whose first dim is the batch's symbol are cut over
// the axis along it, and states that such a graph sums gradients, losses and counts in hold addends. All else
// follows (propagate_shardings): parameters stay whole on every rank. @evaluate and @logits are left alone:
// ranks run them on batches of their own.
#pragma once

#include <string>

#include "ir/graph.h"

namespace smelt {

struct ShardBatchesOptions {
  std::string axis = "data", symbol = "B";
};

/// Nothing changes where the mesh has no such axis. Throws Error where a graph that trains has no such input.
bool shard_batches(Module& module, const ShardBatchesOptions& options);
/// axis = "data", symbol = "B"
void set_option(ShardBatchesOptions& options, std::string_view key, std::string_view value);

}  // namespace smelt
