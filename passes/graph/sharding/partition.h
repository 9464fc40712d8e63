// partition: turns the graphs of a whole mesh into those of one of its ranks.
//
//   %x: f32[B,8] on [data, -]                    %x: f32[B,8], where B is now the rank's part
//   %s = reduce add %x {axes = [0]}       =>     %0 = reduce add %x {axes = [0]}
//                                                %s = all_reduce %0 {axis = "data"}
//
// Shapes become those of one rank's parts, and a collective is inserted where an operation needs another
// sharding than a value has. A sum over ranks is made once for all its users, as all_reduce, or as
// reduce_scatter if the result is sharded; a sharded value that is needed whole is gathered. A symbol that
// cuts a dim stays and means this rank's part; where its whole size is needed it is multiplied by the number
// of ranks. One graph serves all ranks: offsets are written with the coordinates of the rank
// (ir/graph/sharding.h). States and parameters keep their sharding, with the shapes of parts (State::whole
// has the whole shape). Random numbers are those of one rank: parts of a batch draw the numbers of separate
// micro-steps, other parts those of their position (docs/sharding.md).
#pragma once

#include <string>
#include <vector>

#include "ir/pass_options.h"
#include "passes/graph/sharding/reshard.h"

namespace smelt {

struct PartitionOptions {
  /// Axes of the batch: draws along them are those of parts of a batch; axes that the mesh does not have are
  /// ignored.
  std::vector<std::string> batch = {"data"};
  /// Outputs of which each rank returns its own addend, such as "evaluate.loss_sum"; other outputs are
  /// summed.
  std::vector<std::string> addends = {};
  /// True: outputs are gathered along all axes but those of `batch`, so that each rank has those of its
  /// batch.
  bool whole_outputs = false;
  std::vector<CollectiveEntry>* log = nullptr;
};
template <typename Field>
void visit_options(Field& field, PartitionOptions& o) {
  field("batch", o.batch), field("addends", o.addends), field("whole_outputs", o.whole_outputs);
}
/// Partitions the module; does nothing without a mesh or the second time. Without propagate_shardings, values
/// without a sharding are whole. Throws Error with every dim that the ranks do not divide.
bool partition(Module& module, const PartitionOptions& options);

/// Returns a line per collective: "@train_step all_reduce data f32[1024] 4096 bytes: "optimizer", for pack".
std::string explain(const std::vector<CollectiveEntry>& entries);

}  // namespace smelt
