#include "compiler/cli/commands/train_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/cli/shared/text_table.h"

namespace smelt::cli {
namespace {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace

void print_result(const TrainingResult& result, const Figures& figures, double peak_flops,
                  const ChosenPlan* chosen) {
  fmt::print("{} at step {}: loss {:.4f}", result.stopped_early ? "stopped" : "done", result.step,
             result.loss);
  if (result.held_back_loss) fmt::print(", held-back loss {:.4f} nats a target", *result.held_back_loss);
  for (const Metric& metric : result.metrics) fmt::print(", {}", to_text(metric));
  if (figures.skipped_steps > 0) fmt::print(", {} updates skipped", figures.skipped_steps);
  if (!figures.tokens_per_second.empty()) {
    const double gflops = median(figures.gflops_per_second);
    const bool known = peak_flops >= 1e9 * gflops && peak_flops > 0;  // not one that the run refutes
    const std::string mfu = known ? fmt::format(" (MFU {:.1f}%)", 100e9 * gflops / peak_flops) : "";
    fmt::print(", {:.0f} tokens/s, {:.1f} GFLOP/s{}, peak memory {}", median(figures.tokens_per_second),
               gflops, mfu, bytes_text(figures.peak_bytes));
  }
  fmt::print("\n");
  if (chosen && !figures.milliseconds.empty())
    fmt::print("{}\n", prediction_text(*chosen, median(figures.milliseconds) / 1e3));
}

}  // namespace smelt::cli
