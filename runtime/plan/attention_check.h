// What must hold of a kernel that is a part of attention on a CPU before it is run.
#pragma once

#include <vector>

#include "runtime/plan/plan.h"

namespace smelt {

/// Throws Error (invalid_file) where parameters, tiles or, at one of these values, sizes do not fit together.
/// What the part touches is among its parameters' accesses.
void check_attention(const KernelCode& kernel, const std::vector<SymbolValues>& values);

}  // namespace smelt
