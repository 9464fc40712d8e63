// smelt bench of training: the speed of updates, on one rank or several.
#pragma once

#include "compiler/cli/commands/bench_command.h"
#include "compiler/cli/commands/train_ranks.h"

namespace smelt::cli {

/// Returns the options that a training step of the model is compiled with; `ranks`: null for one rank.
CompileOptions training_options(const BenchCommand& command, const Description& description,
                                TrainRanks* ranks);
/// Measures updates; the first rank prints the figures of all ranks. `chosen`: null, or the prediction of a
/// search for plans.
void bench_training(const BenchCommand& command, TrainRanks* ranks, const ChosenPlan* chosen);

}  // namespace smelt::cli
