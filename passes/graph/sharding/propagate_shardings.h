// propagate_shardings: derives the sharding of every value from annotated values.
//
//   %x: f32[B,8] on [data, -]              %x: f32[B,8] on [data, -]
//   %y = matmul %x, %w : f32[B,4]    =>    %y = matmul %x, %w : f32[B,4] on [data, -]
//
// A sharded dim shards the dims that share its factor of an operation (passes/graph/sharding/op_factors.h),
// forward to results and backward to operands, until nothing changes. A dim that has axes keeps them. If an
// operation could take an axis for two of its factors, the one that moves the fewest bytes wins; the latency
// of a message counts as bytes, and readers of one value share its gather (assign_nodes.h). Constants and
// positions that no neighbour shards, and whose first dim is the symbol of a sharded input, are sharded like
// that input: a sum of ones then counts the records of all ranks. Annotated values, states and parameters
// keep their shardings; states and parameters without annotation are whole on every rank. Sums over ranks are
// placed last (passes/graph/sharding/sums.h). Ensures: every value has a sharding; any choice gives
// the same numbers, because partition inserts the moves.
#pragma once

#include <string>
#include <vector>

#include "ir/graph/graph.h"

namespace smelt {

/// Reason for a value's sharding.
enum class ShardingReason : uint8_t {
  written,        // an annotation, or the declaration of a state or parameter
  from_operands,  // forward, by the operation that made it
  from_users,     // backward, by an operation that reads it
  batch,          // its first dim is that of a sharded input
  partial_sum,    // whole or cut, and each rank has an addend
  whole,          // no neighbour has a sharding that it could follow
};
std::string_view text(ShardingReason reason);

struct ShardingEntry {
  std::string graph, source, value, type, sharding;
  ShardingReason reason;
  std::string because;  // the operation it follows; may be empty
};
/// Returns a line per value: "@train_step %x f32[B,T,8] on [data, -, -]: from its operands, by matmul
/// "h.0.fc"".
std::string explain(const std::vector<ShardingEntry>& entries);

struct PropagateShardingsOptions {
  std::vector<ShardingEntry>* log = nullptr;
};
/// Derives the shardings; does nothing without a mesh or after partition. Throws Error with all written
/// shardings that do not fit their shapes.
bool propagate_shardings(Graph& graph, const PropagateShardingsOptions& options);

}  // namespace smelt
