// Measurements of training by `smelt bench`.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "compiler/cli/commands/bench_command.h"
#include "compiler/cli/commands/bench_workload.h"
#include "compiler/cli/commands/train_ranks.h"
#include "compiler/cli/shared/text_table.h"
#include "runtime/base/tensor.h"
#include "runtime/plan/plan.h"

namespace smelt::cli {

// ---- bench_training.cpp
// smelt bench of training: the speed of updates, on one rank or several.

/// Returns the options that a training step of the model is compiled with; `ranks`: null for one rank.
CompileOptions training_options(const BenchCommand& command, const Description& description,
                                TrainRanks* ranks);
/// Measures updates; the first rank prints the figures of all ranks. `chosen`: null, or the prediction of a
/// search for plans.
void bench_training(const BenchCommand& command, TrainRanks* ranks, const ChosenPlan* chosen);

// ---- bench_inputs.cpp
// Random inputs of an entry, of the largest sizes that the plan's bounds allow.

SymbolValues largest_sizes(const Symbols& symbols);

/// Returns values for all inputs that are not optional: token ids within the vocabulary, ones for other
/// integers (masks), a normal distribution for floats.
std::vector<HostTensor> random_inputs(const PlanEntry& entry, const Symbols& symbols);

// ---- bench_profile.cpp
// The time of a profiled training step, by its parts.

/// Returns a table by kind of step, over all entries that ran: time, bytes at the bounds, share of the copy
/// bandwidth, operations.
TextTable step_table(const Program& program, std::span<const StepTime> times, double copy);
/// A table by kind of step (time, bytes, share of the copy bandwidth, operations), then one by stage:
/// forward, backward and update, with the share that is not GEMM.
std::vector<TextTable> profile_tables(BenchWorkload& work, int threads);

/// One average step as trace events (JSON) for Perfetto or chrome://tracing.
std::string trace_events(BenchWorkload& work);

}  // namespace smelt::cli
