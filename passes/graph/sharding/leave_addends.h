// leave_addends: does not reduce over ranks the sums over the batch that a training entry returns. Each rank
// returns the sums over its own part of the batch.
//
// @accumulate and @evaluate return loss_sum and token_count, which the caller adds up over batches. If ranks
// have parts of a batch, the caller also adds them up over ranks, and the entries need no other rank. Runs
// after shard_training; the returned names go to partition (PartitionOptions::addends).
#pragma once

#include <string>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/pass_options.h"

namespace smelt {

struct LeaveAddendsOptions {
  std::string axis = "data";  // of the batches
};
template <typename Field>
void visit_options(Field& field, LeaveAddendsOptions& o) {
  field("axis", o.axis);
}
/// Annotates the outputs. Changes nothing if the mesh has no such axis. Throws Error if @train_step or
/// @accumulate has no input that is sharded over it, because ranks would then train apart from each other.
bool leave_addends(Module& module, const LeaveAddendsOptions& options);

/// Returns the outputs that the pass annotates, if a module has them: "evaluate.loss_sum", ... For a pipeline
/// of `parts` parts, those of all parts.
std::vector<std::string> addend_outputs(int64_t parts);

}  // namespace smelt
