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

/// Returns the options that the model's training step is compiled with. `ranks`: null for one rank.
CompileOptions training_options(const BenchCommand& command, const Description& description,
                                TrainRanks* ranks);
/// Measures updates; the first rank prints the results. `ranks`: null for one rank. `chosen`: the plan that
/// --plan-search chose, whose prediction is printed next to the measured time; null without a search.
void bench_training(const BenchCommand& command, TrainRanks* ranks, const ChosenPlan* chosen);

// ---- bench_inputs.cpp
// Random inputs for an entry, of the largest sizes that the plan's bounds allow.

/// Returns the upper bound of every symbol (a size that is known only at run time, such as the batch B).
SymbolValues largest_sizes(const Symbols& symbols);

/// Returns values for all inputs that are not optional, the same ones in every call: token ids within the
/// vocabulary, ones for other integers (masks), and normally distributed floats. Throws Error if an input is
/// neither f32 nor i32.
std::vector<HostTensor> random_inputs(const PlanEntry& entry, const Symbols& symbols);

// ---- bench_profile.cpp
// The time of a profiled training step, by its parts.

/// Returns a table of the steps of all entries that ran. A row has a kernel, or an operation such as a gemm
/// with its sizes. Equal steps, such as the steps of different layers, share a row. Columns are, among
/// others, the time, the bytes that the step reads and writes when all symbols have their upper bounds, the
/// bandwidth as a share of `copy`, and the floating-point operations per second. `copy`: the bandwidth of a
/// plain copy of memory, in bytes per second.
TextTable step_table(const Program& program, std::span<const StepTime> times, double copy);
/// Returns step_table, then a table with one row per phase (forward, backward, update) and the share of time
/// that is not spent in GEMM steps. `threads`: the threads that measure the bandwidth of a copy on a CPU; 0:
/// all.
std::vector<TextTable> profile_tables(BenchWorkload& work, int threads);

/// Returns one training step as trace events (JSON) for Perfetto or chrome://tracing. Each step of the plan
/// has its average time.
std::string trace_events(BenchWorkload& work);

}  // namespace smelt::cli
