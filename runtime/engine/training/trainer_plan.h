// Requirements of a trainer on its plan.
#pragma once

#include "runtime/engine/training/trainer.h"

namespace smelt {

/// Throws Error naming the entries and states that the plan lacks for these options.
void require_entries(const Plan& plan, const TrainerOptions& options);

}  // namespace smelt
