// Options of training on the command line, and their comparison between ranks and between runs.
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

/// Adds --steps, --batch, --lr, --accumulate and other options that set fields of `t`, and --pipeline-order,
/// whose text is stored in `pipeline_order` (see parse_pipeline_order). Requires: `t` outlives the command.
void add_trainer_options(CLI::App& command, TrainerOptions& t, std::string& pipeline_order);

/// Makes --steps and --epochs of the command line replace both options of a file that is read later
/// (read_config).
void replace_length_of_run(CLI::App& command);

/// Returns the options on the command line that have an effect only with others, as --schedule-power has, and
/// are not switched off.
std::vector<std::string> dependent_options(const CLI::App& command);
/// Throws Error for the first of these options that has no effect.
void check_unused_options(const std::vector<std::string>& given, const TrainerOptions& t);

// ---- stage_flags.cpp
// The flags that the plans of a pipeline, one per stage, must have in common.

/// Returns pairs of a flag and its value. For a plan that is not a pipeline stage, these are only the target
/// and the mesh. `compiled`: the options of the compilation; null if the plan was loaded from a file, so that
/// only flags that the plan records are returned.
std::vector<std::pair<std::string, std::string>> stage_flags(const Plan& plan,
                                                             const CompileOptions* compiled);

// ---- changed_options.cpp
// Options whose values differ between a resumed run and the run before it.

/// Compares the options of two runs, in the form in which a run's file train.json has them. Returns the
/// options that differ and affect the results, with both values, such as "clip 1 -> 3, lora none -> r=4";
/// empty if there are none. Leaves out options that the trainer itself compares, and options that affect only
/// reports, files or speed.
std::string changed_options(const Json& before, const Json& now);

}  // namespace smelt::cli
