// partition: turns graphs that compute on whole values into the graphs that each rank of a mesh runs on its
// parts of the values.
//
//   %x: f32[B,8] on [data, -]                    %x: f32[B,8], where B is now the rank's part
//   %s = reduce add %x {axes = [0]}       =>     %0 = reduce add %x {axes = [0]}
//                                                %s = all_reduce %0 {axis = "data"}
//
// Shapes become those of one rank's parts. If an operation needs a value with another sharding than the value
// has, a collective is inserted. A sharded value that is needed whole is gathered. A sum over ranks is
// computed once for all its users: by an all_reduce, or by a reduce_scatter if the sum is sharded. The symbol
// of a sharded dim, such as B above, now means the size of this rank's part. If the whole size is needed, the
// symbol is multiplied by the number of ranks. All ranks run the same graph. If a rank's part begins at an
// offset, the offset is an expression of the rank's coordinates in the mesh (ir/graph/sharding.h). States and
// parameters keep their sharding, and have the shapes of parts (State::whole has the whole shape). Ranks with
// different parts of a batch draw separate random numbers. Along all other axes, the partition does not
// change random numbers (docs/dev/sharding.md).
#pragma once

#include <string>
#include <vector>

#include "ir/pass_options.h"
#include "passes/graph/sharding/reshard.h"

namespace smelt {

struct PartitionOptions {
  /// Mesh axes along which ranks have different parts of a batch. Ranks along such an axis draw different
  /// random numbers, and the upper bounds of symbols are not divided by the size of the axis. Names that the
  /// mesh lacks are ignored.
  std::vector<std::string> batch = {"data"};
  /// Names of outputs whose sums over ranks are not computed, such as "evaluate.loss_sum": each rank returns
  /// its own addend.
  std::vector<std::string> addends = {};
  /// True: outputs are gathered along all axes but those of `batch`, so that each rank has the whole outputs
  /// of its part of the batch.
  bool whole_outputs = false;
  std::vector<CollectiveEntry>* log = nullptr;  // receives the inserted collectives; null: no log
};
template <typename Field>
void visit_options(Field& field, PartitionOptions& o) {
  field("batch", o.batch), field("addends", o.addends), field("whole_outputs", o.whole_outputs);
}
/// Partitions the module. Returns false if the module has no mesh or is partitioned already. Requires:
/// propagate_shardings has run, because values without a sharding count as whole on every rank. Throws Error
/// with every dim that the number of ranks does not divide.
bool partition(Module& module, const PartitionOptions& options);

/// Returns one line per collective, with its entry, op, mesh axis, type, bytes, source and reader. Example:
/// @train_step all_reduce data f32[1024] 4096 bytes: "optimizer", for pack
std::string explain(const std::vector<CollectiveEntry>& entries);

}  // namespace smelt
