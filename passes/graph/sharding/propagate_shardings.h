// propagate_shardings: derives the sharding of every value from annotated values.
//
//   %x: f32[B,8] on [data, -]              %x: f32[B,8] on [data, -]
//   %y = matmul %x, %w : f32[B,4]    =>    %y = matmul %x, %w : f32[B,4] on [data, -]
//
// A factor of an operation is a size that dims of its operands and results have in common
// (passes/graph/sharding/op_factors.h). If one of these dims is sharded, the others are sharded along the
// same mesh axes: from operands to results and from results to operands, until nothing changes. A dim that
// has axes keeps them. If an axis could shard two factors of an operation, it shards the one for which the
// fewest bytes move between ranks (assign_nodes.h). A constant, iota or broadcast scalar without a sharded
// neighbour gets its sharding from an input: if the first dim of both is the same symbol, such as the batch
// size B, the first dim is sharded as in the input. Annotated values, states and parameters keep their
// shardings; states and parameters without annotation are whole on every rank. Sums over ranks are placed
// last (passes/graph/sharding/sums.h). Ensures: every value has a sharding. Shardings affect results only by
// the order of float additions, because the pass partition inserts the necessary moves.
#pragma once

#include <string>
#include <vector>

#include "ir/graph/graph.h"

namespace smelt {

/// Reason for a value's sharding.
enum class ShardingReason : uint8_t {
  written,        // an annotation, or the declaration of a state or parameter
  from_operands,  // derived from the operands of the operation that computes the value
  from_users,     // derived from an operation that reads the value
  batch,          // the value's first dim is the first dim of a sharded input
  partial_sum,    // each rank has an addend of the value, or of its part of the value
  whole,          // no neighbour has a sharding that the value could take
};
/// Returns the reason as a phrase: "from its operands, by".
std::string_view text(ShardingReason reason);

/// Sharding of one value, for reports.
struct ShardingEntry {
  std::string graph, source, value, type, sharding;
  ShardingReason reason;
  std::string because;  // the operation or input that the reason names; empty if it names none
};
/// Returns one line per value: "@train_step %x f32[B,T,8] on [data, -, -]: from its operands, by matmul
/// "h.0.fc"".
std::string explain(const std::vector<ShardingEntry>& entries);

struct PropagateShardingsOptions {
  std::vector<ShardingEntry>* log = nullptr;  // receives an entry per value; null: no log
};
/// Derives the shardings; returns whether any changed. Does nothing without a mesh or after partition. Throws
/// Error with all annotated shardings that do not fit their shapes.
bool propagate_shardings(Graph& graph, const PropagateShardingsOptions& options);

}  // namespace smelt
