// leave_addends: marks outputs that are sums over the batch as partial, so that each rank returns the sums
// over its own part of the batch and no collective adds them.
//
// @accumulate and @evaluate return loss_sum and token_count, which the caller adds up over batches. If each
// rank has a part of a batch, the caller also adds them up over ranks. Runs after shard_training and before
// partition, which must get the names that addend_outputs returns (PartitionOptions::addends).
#pragma once

#include <string>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/pass_options.h"

namespace smelt {

struct LeaveAddendsOptions {
  std::string axis = "data";  // mesh axis along which ranks have different batches
};
template <typename Field>
void visit_options(Field& field, LeaveAddendsOptions& o) {
  field("axis", o.axis);
}
/// Annotates loss_sum and token_count of @accumulate, @evaluate and, in a pipeline, @batch and the parts of
/// @evaluate. Returns whether there were any. Changes nothing if the mesh has no such axis. Throws Error if
/// @train_step or @accumulate has no input that is sharded along the axis, because gradients would
/// then not be summed over ranks.
bool leave_addends(Module& module, const LeaveAddendsOptions& options);

/// Returns the names of all outputs that the pass annotates if a module has them, as "evaluate.loss_sum".
/// `parts` is the number of parts into which pipeline parallelism cuts @evaluate; 0 without it.
std::vector<std::string> addend_outputs(int64_t parts);

}  // namespace smelt
