// plan_neighbours: records which parameters must be adjacent in memory (Module::adjacent) so that merge_gemms
// can merge the matmuls that share an operand.
//
// It serves parameters that are sharded over ranks. Ranks cut inside each of them, so merge_gemms must run on
// the graph of one rank, after partition, but flatten_parameters needs the groups before that. Ensures: no
// graph changes.
#pragma once

#include "ir/graph/graph.h"

namespace smelt {

bool plan_neighbours(Module& module);

}  // namespace smelt
