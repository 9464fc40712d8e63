// The report of smelt train at the end of a run.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/cli/shared/search_flags.h"
#include "runtime/engine/training/trainer.h"

namespace smelt::cli {

/// Records the progress and the speed of a training run. Each vector has one element per step.
class Figures : public TrainerObserver {
 public:
  void stepped(const StepRecord& record) override {
    step = record.step;
    tokens_per_second.push_back(record.tokens_per_second);
    gflops_per_second.push_back(record.gflops_per_second);
    milliseconds.push_back(record.milliseconds);
    peak_bytes = record.peak_bytes;
    skipped_steps = record.skipped_steps.value_or(0);
  }
  int64_t step = 0, peak_bytes = 0, skipped_steps = 0;
  std::vector<double> tokens_per_second, gflops_per_second, milliseconds;
};

/// Prints the final loss and the medians of the figures over all steps. `peak_flops`: the machine's largest
/// rate in floating-point operations per second, from which the MFU (model FLOP utilization) is computed; 0:
/// not known, so that no MFU is printed. `chosen`: the plan that a search chose, whose predicted time is
/// printed, too; null without a search.
void print_result(const TrainingResult& result, const Figures& figures, double peak_flops,
                  const ChosenPlan* chosen);

}  // namespace smelt::cli
