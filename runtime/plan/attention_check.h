// Checks of a CPU kernel that is a part of attention, before it runs.
#pragma once

#include <vector>

#include "runtime/plan/plan.h"

namespace smelt {

/// Throws Error (invalid_file) if the parameters, the tiles or, at one of these `values`, the sizes do not
/// fit together. The elements that the part touches are among the accesses of its parameters.
void check_attention(const KernelCode& kernel, const std::vector<SymbolValues>& values);

}  // namespace smelt
