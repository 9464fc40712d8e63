// shard_training: the annotations of data-parallel training, from which propagate_shardings derives the rest.
//
// Batches are cut: the first dim of every input where that is a symbol, in a module with entries of training
// the symbol that leads theirs. Sums that micro-steps add to stay
// addends of the ranks, and are reduced where they are applied. With `zero`, flat states of the optimizer
// are cut (ZeRO stage 1), and parameters where an entry reads a rounded copy of them instead. Contract: what
// is annotated already stays as it is; no value changes.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace smelt {

struct ShardTrainingOptions {
  std::vector<std::string> axes = {"data"};  // of the mesh, over which batches are cut, the first outermost
  int zero = 0;                              // 0: every rank has all states; 1: a part of the optimizer's
};
/// Nothing changes in a module without a mesh. Throws Error where the mesh has no such axis, and
/// one that names every input of @train_step, @accumulate and @evaluate whose first dim is not the batch's:
/// ranks would feed different numbers where the graph has one. Optional inputs, numbers and those that are
/// annotated are left out.
bool shard_training(Module& module, const ShardTrainingOptions& options);
/// axes = "pod+data", zero = "1"
void set_option(ShardTrainingOptions& options, std::string_view key, std::string_view value);

}  // namespace smelt
