// smelt bench of training: the speed of updates, on one rank or several.
#pragma once

#include "compiler/cli/bench_command.h"
#include "compiler/cli/train_ranks.h"

namespace smelt::cli {

/// How a training step of the model is compiled; `ranks`: null for one rank.
CompileOptions training_options(const BenchCommand& command, const Description& description,
                                TrainRanks* ranks);
/// Measures updates and prints the figures; the first rank says what all of them took. `chosen`: null, or
/// what a search for plans predicted.
void bench_training(const BenchCommand& command, TrainRanks* ranks, const ChosenPlan* chosen);

}  // namespace smelt::cli
