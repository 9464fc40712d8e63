// Removes variants whose kernels do not fit the registers from a program.
#pragma once

#include <vector>

#include "ir/program/program.h"

namespace smelt {

/// Erases the variants that run a kernel of `heavy` (by number) where another variant of the choice runs
/// none, and kernels that no step runs any more. Memory may have been planned: buffers keep their locations,
/// and live from and to the same steps under their new numbers. Returns whether something was erased.
bool drop_alternatives(Program& program, const std::vector<bool>& heavy);

}  // namespace smelt
