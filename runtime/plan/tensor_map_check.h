// That maps of a kernel's arguments are ones that the copy engine takes.
#pragma once

#include <string>

#include "runtime/plan/plan.h"

namespace smelt {

/// What does not depend on sizes. Throws Error (invalid_file).
void check_maps(const Plan& plan, const KernelCode& kernel);

/// Sizes, strides and begins of a launch's maps, which must lie in their buffers. Throws Error (invalid_file)
/// with `place`.
void check_maps(const Plan& plan, const KernelStep& launch, const SymbolValues& values,
                const std::string& place);

}  // namespace smelt
