// Check that a plan has the entries and states that a trainer needs.
#pragma once

#include "runtime/engine/training/trainer.h"

namespace smelt {

/// Throws Error if the plan lacks an entry that a run with these options needs, or the state learning_rate.
/// The message names all missing entries, or the state.
void require_entries(const Plan& plan, const TrainerOptions& options);

}  // namespace smelt
