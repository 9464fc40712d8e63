// assign_layout: gives every value of a graph a buffer, an offset and strides.
//
// Views, such as reshape, transpose, slice and broadcast, share their operand's memory. The operands of a
// concat or pack are computed in the memory of its result. The new value of a state is computed in the
// state's memory if overwrites.h allows it. A value overwrites the part of a larger value that it is computed
// from if part_in_place.h allows it. If a value cannot be computed where it is needed, it is computed
// elsewhere and copied. A view that strides cannot express is copied too, which the log reports.
//
// The pitch of a temporary's rows is a multiple of 16 bytes, or of 64 elements for rows of a constant length
// of 4,096 or more. The order of its other dims suits the matmuls that use it (matmul_layouts.h). Temporaries
// of kernels without support for a pitch, states, inputs and outputs are dense.
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
