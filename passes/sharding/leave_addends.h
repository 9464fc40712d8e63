// leave_addends: sums over the batch that an entry of training returns are those of each rank's own part.
//
// @accumulate and @evaluate return loss_sum and token_count, which the caller adds up over batches: where
// ranks have parts of a batch, it adds them up over ranks, too, and the entries need no other rank. Belongs
// behind shard_training, and the names that are returned to partition (PartitionOptions::addends).
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace smelt {

/// "evaluate.loss_sum", ...; none where the mesh has no such axis. Throws Error where nothing that
/// @train_step reads is cut over it: its ranks would train apart from each other.
std::vector<std::string> leave_addends(Module& module, std::string_view axis);

}  // namespace smelt
