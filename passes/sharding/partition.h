// partition: the graphs of a whole mesh become those of one of its ranks.
//
// Shapes become one rank's parts, operations compute on them, and collectives stand where a value lies
// otherwise than an operation needs it: a sum over ranks is made once for all its users, as all_reduce or,
// where it is cut afterwards, as reduce_scatter; what is cut and needed whole is gathered. A symbol that cuts
// a dim stays and means this rank's part of it; wherever its whole size is needed the number of ranks stands
// before it. One graph serves all ranks: they differ in the coordinates (ir/sharding.h) that offsets are
// written with. States and parameters keep their sharding, with the shapes of parts (State::whole has the
// other). Random numbers are those of one rank: parts of a batch draw what micro-steps of their own would,
// other parts what lies at their place (docs/sharding.md).
#pragma once

#include <string>
#include <vector>

#include "passes/sharding/reshard.h"

namespace smelt {

struct PartitionOptions {
  /// Draws that these cut are parts of a batch; axes that the mesh does not have are ignored.
  std::vector<std::string> batch = {"data"};
  /// Outputs of which each rank gives its own addend, as "evaluate.loss_sum": others are sums.
  std::vector<std::string> addends = {};
  /// Whether outputs are put together along all axes but those of `batch`, so that each rank has its batch's.
  bool whole_outputs = false;
  std::vector<CollectiveEntry>* log = nullptr;
};
/// Nothing changes in a module without a mesh, or a second time. Where propagate_shardings did not run,
/// values without a sharding are whole. Throws Error naming everything that ranks do not divide.
bool partition(Module& module, const PartitionOptions& options);
/// batch = "data+pod", or "none"; addends = "evaluate.loss_sum+evaluate.token_count"
void set_option(PartitionOptions& options, std::string_view key, std::string_view value);

/// A line a collective: "@train_step all_reduce data f32[1024] 4096 bytes: "optimizer", for pack".
std::string explain(const std::vector<CollectiveEntry>& entries);

}  // namespace smelt
