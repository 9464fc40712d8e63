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

/// Returns the parameters in the order in which they are adjacent in memory or can be made adjacent; nothing
/// if there is no such order. If parameters are flat, their offsets must be adjacent. Otherwise the order is
/// that of a group in Module::adjacent, or the given order if none of the parameters is in a group.
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
