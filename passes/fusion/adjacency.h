// Which parameters lie, or may be made to lie, one after another in the flat state, so that their concat is a
// view.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/builder.h"

namespace smelt {

/// A stack of whole parameters along their first dim.
using Stack = std::vector<std::string>;

/// The parameters in the order in which they do or may follow each other; nothing where they cannot. Once the
/// parameters are flat their places decide; before, the groups of Module::adjacent, and then the order given.
std::optional<Stack> stackable(Module& module, Stack parameters);
/// Whether all of them stand next to each other in one recorded group, so that no new group is needed.
bool recorded(const Module& module, const Stack& stack);
/// Adds the group where it is not recorded and the parameters are not flat yet.
void record(Module& module, const Stack& stack);

/// The name of the parameter that makes `value`; empty for anything else.
std::string parameter_name(const Value* value);
/// concat of the parameters along dim 0, as new nodes.
Value* build_stack(GraphBuilder& b, const Stack& stack);

}  // namespace smelt
