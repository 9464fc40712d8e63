// The time of a profiled training step, by its parts.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "compiler/cli/commands/bench_workload.h"
#include "compiler/cli/shared/text_table.h"

namespace smelt::cli {

/// Returns a table by kind of step, over all entries that ran: time, bytes at the bounds, share of the copy
/// bandwidth, operations.
TextTable step_table(const Program& program, std::span<const StepTime> times, double copy);
/// A table by kind of step (time, bytes, share of the copy bandwidth, operations), then one by stage:
/// forward, backward and update, with the share that is not GEMM.
std::vector<TextTable> profile_tables(BenchWorkload& work, int threads);

/// One average step as trace events (JSON) for Perfetto or chrome://tracing.
std::string trace_events(BenchWorkload& work);

}  // namespace smelt::cli
