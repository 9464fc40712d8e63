// Adjacency of parameters in the flat state: parameters that are, or may be placed, one after another, so
// that their concat is a view.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/graph/builder.h"

namespace smelt {

/// Stack of whole parameters along their first dim.
using Stack = std::vector<std::string>;

/// Returns the parameters in the order in which they do or may follow each other; nothing if they cannot. For
/// flat parameters their offsets decide; otherwise the groups of Module::adjacent, then the given order.
std::optional<Stack> stackable(Module& module, Stack parameters);
/// Returns whether all of them are adjacent in one recorded group, so that no new group is needed.
bool recorded(const Module& module, const Stack& stack);
/// Records the group, unless it is recorded already or the parameters are flat.
void record(Module& module, const Stack& stack);

/// Returns the name of the parameter that makes `value`; empty for other values.
std::string parameter_name(const Value* value);
/// Builds the concat of the parameters along dim 0.
Value* build_stack(GraphBuilder& b, const Stack& stack);

}  // namespace smelt
