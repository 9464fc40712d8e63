// Proof that an entry returns its outputs as they were made.
#pragma once

#include "runtime/plan/plan.h"

namespace smelt {

/// Checks at these values of the symbols that no step writes over elements of an output that an earlier step
/// has written, unless it also reads the output's buffer and so changes it in place. Elements written by a
/// fill may be overwritten. Elements that computed indices reach are not examined.
///
/// Requires: steps are inside their buffers. Throws Error (invalid_file) with the output, the steps and the
/// buffer.
void check_outputs(const Plan& plan, const PlanEntry& entry, const SymbolValues& values);

}  // namespace smelt
