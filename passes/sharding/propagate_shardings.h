// propagate_shardings: from the values whose sharding is written, how ranks share all the others.
//
// Along the factors of each operation (passes/sharding/op_factors.h) a cut dim cuts the dims that it belongs
// to, forward to results and backward to operands, until nothing changes. A dim that got its axes keeps
// them; where an operation could take an axis for two of its factors, the one that moves the fewest bytes
// wins; a message counts as many bytes, and readers of one value share its gather (assign_nodes.h).
// Constants and positions that nothing cuts and whose first dim is the symbol of an input's that is cut
// are cut like it: a sum of ones then counts the records of all ranks. What is written stays: annotated
// values, and states and parameters, which are whole on every rank where nothing is said. Then sums over
// ranks are placed (passes/sharding/partial_sums.h). Contract: afterwards every value has a sharding; any
// choice gives the same numbers, since partition moves what does not fit.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace smelt {

/// Why a value lies as it does.
enum class ShardingReason : uint8_t {
  written,        // an annotation, or the declaration of a state or parameter
  from_operands,  // forward, by the operation that made it
  from_users,     // backward, by an operation that reads it
  batch,          // its first dim is that of an input which is cut
  partial_sum,    // whole or cut, and each rank has an addend
  whole,          // no neighbour is cut in a way that it could follow
};
std::string_view text(ShardingReason reason);

struct ShardingEntry {
  std::string graph, source, value, type, sharding;
  ShardingReason reason;
  std::string because;  // the operation it follows; may be empty
};
/// A line a value: "@train_step %x f32[B,T,8] on [data, -, -]: from its operands, by matmul "h.0.fc"".
std::string explain(const std::vector<ShardingEntry>& entries);

struct PropagateShardingsOptions {
  std::vector<ShardingEntry>* log = nullptr;
};
/// Nothing changes in a module without a mesh, or after partition. Throws Error naming all written shardings
/// that do not fit their shapes.
bool propagate_shardings(Graph& graph, const PropagateShardingsOptions& options);

}  // namespace smelt
