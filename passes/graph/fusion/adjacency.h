// Adjacency of parameters in a flat state, which is one buffer with many parameters (flatten_parameters). The
// concat of adjacent parameters is a view. Before parameters are flat, Module::adjacent records groups of
// parameters that must be placed one after another.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/graph/builder.h"

namespace smelt {

/// Names of parameters that are stacked, in this order, along their first dim.
using Stack = std::vector<std::string>;

/// Returns the parameters in an order in which they can be stacked. If parameters are flat, this is the order
/// of their offsets, which must be adjacent. Otherwise it is their order in a group of Module::adjacent, in
/// which they must be adjacent. If none of them is in a group, it is the given order, and all must be frozen
/// and decayed alike. Returns nothing if there is no such order.
std::optional<Stack> stackable(Module& module, Stack parameters);
/// Returns whether the parameters of the stack are adjacent, in any order, in one group of Module::adjacent.
bool recorded(const Module& module, const Stack& stack);
/// Adds the stack as a group to Module::adjacent, unless it is recorded already or parameters are flat.
void record(Module& module, const Stack& stack);

/// Returns the name of the parameter if `value` is the result of a `parameter` node, else an empty string.
std::string parameter_name(const Value* value);
/// Builds the concat of the parameters along dim 0.
Value* build_stack(GraphBuilder& b, const Stack& stack);

}  // namespace smelt
