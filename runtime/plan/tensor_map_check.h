// Checks that the tensor maps of a kernel's arguments are valid for the copy engine.
#pragma once

#include <string>

#include "runtime/plan/plan.h"

namespace smelt {

/// Checks the properties that do not depend on sizes. Throws Error (invalid_file).
void check_maps(const Plan& plan, const KernelCode& kernel);

/// Checks sizes, strides and begins of a launch's maps, which must be inside their buffers. Throws Error
/// (invalid_file) with `place`.
void check_maps(const Plan& plan, const KernelStep& launch, const SymbolValues& values,
                const std::string& place);

}  // namespace smelt
