// assign_layout: gives every value of a graph a buffer, an offset and strides.
//
// Views, such as reshape, transpose, slice and broadcast, share their operand's memory. The operands of a
// concat, or of a pack (the op that makes a flat state from many operands), are computed in the memory of its
// result. The new value of a state is computed in the state's memory if overwrites.h allows it. A value that
// is computed from one part of a larger value overwrites this part if part_in_place.h allows it. If an
// operand of a concat or pack, or the new value of a state, cannot be computed in that memory, it gets a
// buffer of its own and is copied afterwards. If strides cannot express a view, the view gets its own buffer,
// and its operand is copied there; AssignLayoutOptions::log lists these copies.
//
// A row of a value is the vector of its elements along the last dim. The pitch of a temporary is the distance
// between its rows. It is a multiple of 16 bytes, or of 64 elements if rows have a constant length of 4,096
// elements or more. The order of the other dims is chosen for the matmuls that use the temporary
// (matmul_layouts.h). States, inputs and outputs have no gaps between rows. Temporaries have none either if a
// kernel that uses them does not support a pitch.
#pragma once

#include <string>
#include <vector>

#include "ir/graph/graph.h"

namespace smelt {

struct AssignLayoutOptions {
  std::vector<std::string>* log = nullptr;  // receives one sentence per copy of a view; null: no log
};

/// Assigns the layouts. Runs after fuse. Adds the buffers to Module::buffers, and sets Value::layout of every
/// result that is not in a body.
bool assign_layout(Graph& graph, const AssignLayoutOptions& options);

}  // namespace smelt
