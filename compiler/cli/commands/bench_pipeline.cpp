#include "compiler/cli/commands/bench_pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runtime/engine/training/pipeline_simulation.h"

namespace smelt::cli {

namespace {

double median_of(std::vector<double> seconds) {
  std::ranges::sort(seconds);
  return seconds[seconds.size() / 2];
}

double bubble_by_formula(const PipelineWorker& worker, int64_t micro_batches) {
  const PipelineStage& stage = worker.stage();
  const PipelineSchedule schedule =
      make_schedule(worker.order(), {stage.stages, micro_batches, stage.parts_a_stage});
  return simulate(schedule, equal_times(schedule.shape), ring_sizes(schedule)).bubble;
}

}  // namespace

std::optional<BenchBubble> timed_bubble(BenchWorkload& work, const UpdateClock& clock, int micro_batches,
                                        std::vector<double> seconds) {
  if (!work.pipeline() || micro_batches < 2) return {};
  const int fewer = micro_batches / 2;
  work.set_accumulate(fewer);
  const double some = median_of(timed_updates(work, clock)), all = median_of(std::move(seconds));
  work.set_accumulate(micro_batches);
  const double busy = (all - some) * micro_batches / (micro_batches - fewer);
  return BenchBubble{bubble_by_formula(*work.pipeline(), micro_batches), 1 - busy / all};
}

std::string bubble_text(const BenchBubble& bubble, int64_t micro_batches) {
  return fmt::format("bubble of {} micro-batches: {:.1f}% by the formula, {:.1f}% measured", micro_batches,
                     100 * bubble.formula, 100 * bubble.measured);
}

Json to_json(const std::optional<BenchBubble>& bubble) {
  const auto rounded = [](double share) { return std::round(share * 1e3) / 1e3; };
  if (!bubble) return nullptr;
  return {{"formula", rounded(bubble->formula)}, {"measured", rounded(bubble->measured)}};
}

}  // namespace smelt::cli
