#pragma once

#include "runtime/plan/plan.h"

namespace smelt {

/// Checks that a later step waits for each collective or copy that runs concurrently with later steps
/// (waited_at), and that no step before that one points into the memory that it writes, or writes where it
/// reads. The extent of a step's accesses is not examined; sizes of concurrent steps count as their bounds.
/// Throws Error (invalid_file).
void check_waits(const PlanEntry& entry, const Symbols& symbols);

}  // namespace smelt
