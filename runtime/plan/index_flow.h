// What the integers are that kernels index tables by: from those who make them (inputs with ids, constants,
// sorts, kernels that say what they write) through copies to the kernels that rely on them.
#pragma once

#include "runtime/plan/plan.h"

namespace smelt {

/// That every element that a kernel of the entry relies on (KernelParameter::indices) has been written at
/// these values of the symbols, last by who makes sure that it is such a number. Steps must be inside their
/// buffers. Throws Error (invalid_file) with the step, the argument and the numbers.
void check_indices(const Plan& plan, const PlanEntry& entry, const SymbolValues& values);

}  // namespace smelt
