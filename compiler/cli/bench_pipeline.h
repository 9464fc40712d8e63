// How long the stages of a pipeline stand idle: by the formula of its schedule, and as measured.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/cli/bench_workload.h"
#include "runtime/system/json_text.h"

namespace smelt::cli {

/// Shares of the time of an update.
struct BenchBubble {
  double formula = 0;   // where all parts take as long forward as backward
  double measured = 0;  // what an update takes longer than its micro-batches do one behind the other
};

/// Of a pipeline, beside `seconds` of updates of so many micro-batches those of twice as many: what these
/// take more is their time without a bubble. Nothing where the plan is of no pipeline.
std::optional<BenchBubble> timed_bubble(BenchWorkload& work, const UpdateClock& clock, int micro_batches,
                                        std::vector<double> seconds);
/// "bubble of 8 micro-batches: 11.1% by the formula, 12.5% measured"
std::string bubble_text(const BenchBubble& bubble, int64_t micro_batches);
Json to_json(const std::optional<BenchBubble>& bubble);

}  // namespace smelt::cli
