// Gives every value of a graph a buffer, an offset and strides. Views (reshape, transpose, slice, broadcast)
// look into their operand's memory; concat and pack are written in place by whoever computes their parts; an
// update's value is computed where the state lives, if passes/memory/overwrites.h grants it. What cannot be
// is copied; copies of views are logged.
//
// Temporaries get rows whose pitch is a multiple of 16 bytes (64 elements for rows of 4,096 and more);
// states, inputs and outputs are dense.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace smelt {

struct AssignLayoutOptions {
  std::vector<std::string>* log = nullptr;  // one sentence for every copy that a view needs
};

/// Fusions must have been made. Adds to Module::buffers; sets Value::layout of every result outside fusion
/// bodies.
bool assign_layout(Graph& graph, const AssignLayoutOptions& options);

}  // namespace smelt
