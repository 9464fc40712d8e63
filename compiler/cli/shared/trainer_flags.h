// Options of the training loop.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "runtime/engine/training/trainer.h"

namespace smelt::cli {

/// Adds --steps, --batch, --lr, --accumulate and the other fields of TrainerOptions that a command line sets.
/// `pipeline_order`: its name, for parse_pipeline_order.
void add_trainer_options(CLI::App& command, TrainerOptions& t, std::string& pipeline_order);

}  // namespace smelt::cli
