// Alternatives whose kernels turned out not to fit the registers are left out of a program.
#pragma once

#include <vector>

#include "ir/program.h"

namespace smelt {

/// Erases the alternatives that run a kernel of `heavy` (by number) where another alternative of the choice
/// runs none, and kernels that no step runs any more. Memory may have been planned: buffers keep their
/// places, and live from and to the same steps under their new numbers. Returns whether something was erased.
bool drop_alternatives(Program& program, const std::vector<bool>& heavy);

}  // namespace smelt
