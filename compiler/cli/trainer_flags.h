// Options of the training loop.
#pragma once

#include <CLI/CLI.hpp>

#include "runtime/training/trainer.h"

namespace smelt::cli {

/// Adds --steps, --batch, --lr, --accumulate and the other fields of TrainerOptions that a command line sets.
void add_trainer_options(CLI::App& command, TrainerOptions& options);

}  // namespace smelt::cli
