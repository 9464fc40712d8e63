// Gives every value of a graph a buffer, an offset and strides. Views (reshape, transpose, slice, broadcast)
// share their operand's memory; the parts of concat and pack are computed in place; an update's value is
// computed in the state's memory, if passes/memory/overwrites.h allows it; a value takes the place of the
// part of a larger one that it is computed from, if passes/memory/part_in_place.h does. What cannot share
// memory is copied; copies of views are logged.
//
// Temporaries get rows whose pitch is a multiple of 16 bytes (64 elements for rows of 4,096 and more), and
// their other dims the order that suits their matmuls (passes/memory/matmul_layouts.h); states, inputs and
// outputs are dense.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace smelt {

struct AssignLayoutOptions {
  std::vector<std::string>* log = nullptr;  // one sentence for every copy that a view needs
};

/// Runs after fuse. Adds to Module::buffers; sets Value::layout of every result outside fusion bodies.
bool assign_layout(Graph& graph, const AssignLayoutOptions& options);

}  // namespace smelt
