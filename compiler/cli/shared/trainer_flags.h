// Options of training on the command line.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

#include "compiler/driver/compile.h"
#include "runtime/engine/training/trainer.h"
#include "runtime/system/json_text.h"

namespace smelt::cli {

// ---- trainer_flags.cpp
// Options of the training loop.

/// Adds --steps, --batch, --lr, --accumulate and the other fields of TrainerOptions that a command line sets.
/// `pipeline_order`: its name, for parse_pipeline_order.
void add_trainer_options(CLI::App& command, TrainerOptions& t, std::string& pipeline_order);

// ---- stage_flags.cpp
// The flags that the plans of a pipeline, one per stage, must have in common.

/// Names of flags and what they were given; of other plans the target and the mesh alone. `compiled`: null
/// where the plan came as a file.
std::vector<std::pair<std::string, std::string>> stage_flags(const Plan& plan,
                                                             const CompileOptions* compiled);

// ---- changed_options.cpp
// Options whose values differ between a resumed run and the run before it.

/// Names the options of `train` that change what is computed and differ between two train.json, with both
/// values: "clip 1 -> 3, lora none -> r=4". Options that the trainer itself compares, and those of reports,
/// files and speed, are left out. Empty where none differs.
std::string changed_options(const Json& before, const Json& now);

}  // namespace smelt::cli
