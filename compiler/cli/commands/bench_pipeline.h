// The pipeline bubble, in which stages are idle: by the formula of the schedule, and as measured.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/cli/commands/bench_workload.h"
#include "runtime/system/json_text.h"

namespace smelt::cli {

/// Shares of the time of an update.
struct BenchBubble {
  double formula = 0;   // where all parts take as long forward as backward
  double measured = 0;  // what an update takes longer than its micro-batches do one behind the other
};

/// Measures the bubble of a pipeline. Compares `seconds`, of updates of `micro_batches` micro-batches, with
/// updates of half as many: the difference gives the time of the micro-batches without a bubble. Nothing
/// where the plan is not of a pipeline, or where there are fewer than 2 micro-batches.
std::optional<BenchBubble> timed_bubble(BenchWorkload& work, const UpdateClock& clock, int micro_batches,
                                        std::vector<double> seconds);
/// "bubble of 8 micro-batches: 11.1% by the formula, 12.5% measured"
std::string bubble_text(const BenchBubble& bubble, int64_t micro_batches);
Json to_json(const std::optional<BenchBubble>& bubble);

}  // namespace smelt::cli
