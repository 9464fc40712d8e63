// Proof that the integers by which kernels index tables are in range. The bounds originate in the steps that
// write the integers (inputs with ids, constants, sorts, kernels with KernelParameter::indices) and pass
// through copies to the kernels that rely on them.
#pragma once

#include "runtime/plan/plan.h"

namespace smelt {

/// Checks at these values of the symbols that every index which a kernel of the entry relies on
/// (KernelParameter::indices) has been written, last by a step that guarantees its bounds. Requires: steps
/// are inside their buffers. Throws Error (invalid_file) with the step, the argument and the numbers.
void check_indices(const Plan& plan, const PlanEntry& entry, const SymbolValues& values);

}  // namespace smelt
