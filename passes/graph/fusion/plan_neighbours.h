// plan_neighbours: records which parameters must be adjacent in memory (Module::adjacent) so that merge_gemms
// can merge the matmuls that share an operand.
//
// The pass is for parameters that are sharded over ranks. Each parameter is divided among the ranks, so
// merge_gemms must run after the pass partition, on the graph of one rank. But flatten_parameters runs
// earlier, and needs to know which parameters will be merged. The pass therefore runs merge_gemms on a copy
// of the module, and keeps only the groups that it records. Ensures: no graph changes.
#pragma once

#include "ir/graph/graph.h"

namespace smelt {

/// Records the groups. Returns whether Module::adjacent changed.
bool plan_neighbours(Module& module);

}  // namespace smelt
