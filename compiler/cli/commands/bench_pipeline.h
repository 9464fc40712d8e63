// The pipeline bubble, which is the share of time in which stages are idle: as predicted and as measured.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/cli/commands/bench_workload.h"
#include "runtime/system/json_text.h"

namespace smelt::cli {

/// The bubble as a share of an update's time, 0 to 1.
struct BenchBubble {
  double formula = 0;   // computed from the schedule, as if every forward and backward took the same time
  double measured = 0;  // 1 - (time that the micro-batches would take without a bubble / update's time)
};

/// Measures the bubble of a pipeline. `seconds` are times of updates with `micro_batches` micro-batches. The
/// function also measures updates with half as many micro-batches. The bubble takes equally long in both
/// kinds of update, so the difference of their times is the time of half of the micro-batches without a
/// bubble. Returns an empty result if the plan is not a pipeline's, or if there are fewer than 2
/// micro-batches.
std::optional<BenchBubble> timed_bubble(BenchWorkload& work, const UpdateClock& clock, int micro_batches,
                                        std::vector<double> seconds);
/// Returns a text such as "bubble of 8 micro-batches: 11.1% by the formula, 12.5% measured".
std::string bubble_text(const BenchBubble& bubble, int64_t micro_batches);
/// Returns {"formula": ..., "measured": ...}, or null if there is no bubble.
Json to_json(const std::optional<BenchBubble>& bubble);

}  // namespace smelt::cli
