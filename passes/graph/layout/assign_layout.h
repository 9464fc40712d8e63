// assign_layout: gives every value of a graph a buffer, an offset and strides.
//
// Views (reshape, transpose, slice, broadcast) share their operand's memory. The parts of concat and pack are
// computed in place. An update's value is computed in the state's memory if passes/graph/layout/overwrites.h
// allows it. A value overwrites the part of a larger value that it is computed from if
// passes/graph/layout/part_in_place.h allows it. Other values are copied; copies of views are logged.
//
// Temporaries get rows whose pitch is a multiple of 16 bytes (64 elements for rows of 4,096 and more), and
// the order of their other dims suits their matmuls (passes/graph/layout/matmul_layouts.h). States, inputs
// and outputs are dense.
#pragma once

#include <string>
#include <vector>

#include "ir/graph/graph.h"

namespace smelt {

struct AssignLayoutOptions {
  std::vector<std::string>* log = nullptr;  // one sentence for every copy that a view needs
};

/// Assigns the layouts. Runs after fuse. Adds to Module::buffers; sets Value::layout of every result outside
/// fusion bodies.
bool assign_layout(Graph& graph, const AssignLayoutOptions& options);

}  // namespace smelt
