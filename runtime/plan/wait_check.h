#pragma once

#include "runtime/plan/plan.h"

namespace smelt {

/// That a collective or a copy which runs beside later steps (waited_at) is waited for by a step behind
/// it, and that no step until then points into what it writes, or writes where it reads. How far a step
/// reaches from where it points is not looked at; of what runs beside it, sizes count as their bounds. Throws
/// Error (invalid_file).
void check_waits(const PlanEntry& entry, const Symbols& symbols);

}  // namespace smelt
