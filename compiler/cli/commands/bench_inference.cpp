#include "compiler/cli/commands/bench_inference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "compiler/cli/commands/bench_training.h"
#include "compiler/cli/commands/doctor.h"
#include "compiler/cli/shared/compile_flags.h"
#include "compiler/cli/shared/text_table.h"
#include "compiler/cli/shared/timer.h"
#include "compiler/driver/plan_cache.h"
#include "runtime/plan/plan_costs.h"
#include "runtime/smelt.h"
#include "runtime/system/file.h"

namespace smelt::cli {
namespace {

struct InferenceTime {
  double seconds = 0, spread = 0;  // of a run; the whole range relative to the median
  double gflop_per_s = 0;
};

class InferenceWorkload {
 public:
  explicit InferenceWorkload(const InferenceBench& bench)
      : bench_(bench),
        compilation_(compiled(bench)),
        session_(std::make_shared<const Plan>(std::move(compilation_.plan)), session_options(bench)) {
    session_.initialize(1);
    data_ = random_inputs(entry(), plan().symbols);
    for (const HostTensor& tensor : data_)
      inputs_.push_back({tensor.name, tensor.dtype, tensor.shape, tensor.bytes.data()});
  }

  InferenceTime measure() {
    for (int i = 0; i < 2; ++i) run(1);  // the second one is captured
    const int together = bench_.together ? *bench_.together : runs_of_a_look();
    std::vector<double> seconds = time_runs(bench_.warm_up, bench_.steps, [&] { run(together); });
    std::ranges::sort(seconds);
    const double median = seconds[seconds.size() / 2];
    return {.seconds = median / together,
            .spread = (seconds.back() - seconds.front()) / median,
            .gflop_per_s = matrix_flops(entry(), largest_sizes(plan().symbols)) / (median / together) / 1e9};
  }

  const Compilation& compilation() const { return compilation_; }
  const Plan& plan() const { return session_.plan(); }
  Executor& executor() { return session_.executor(); }

 private:
  /// Returns the number of runs per measurement, which is the same at all ranks.
  int runs_of_a_look() {
    if (!bench_.ranks) return runs_together([&] { run(1); });
    run(1);
    return 1;
  }

  static SessionOptions session_options(const InferenceBench& bench) {
    SessionOptions options{.threads = bench.threads, .profile = bench.profile};
    if (bench.ranks) bench.ranks->add_to(options, bench.compile);
    return options;
  }

  static Compilation compiled(const InferenceBench& bench) {
    const std::jthread preparation = prepare_executor(bench.compile.target, bench.compile.device);
    return compile_or_recall(bench.description, bench.compile);
  }

  const PlanEntry& entry() const { return session_.entry("logits"); }

  void run(int times) {
    for (int i = 0; i < times; ++i) session_.run("logits", inputs_, std::span<const OutputBuffer>());
    session_.executor().synchronize();
  }

  const InferenceBench& bench_;
  Compilation compilation_;
  Session session_;
  std::vector<HostTensor> data_;
  std::vector<InputTensor> inputs_;
};

Json to_json(const InferenceBench& bench, const Plan& plan, const InferenceTime& time) {
  return {{"smelt", SMELT_VERSION},
          {"model", bench.name},
          {"target", plan.target},
          {"seconds", time.seconds},
          {"spread", std::round(time.spread * 1e3) / 1e3},
          {"gflop_per_s", std::round(time.gflop_per_s * 10) / 10},
          {"planned_mib", executor_memory(plan).total() >> 20}};
}

TextTable to_table(const InferenceBench& bench, const Plan& plan, const InferenceTime& time) {
  TextTable table({"model", "a run", "spread", "GFLOP/s", "planned"});
  table.add({bench.name, seconds_text(time.seconds), fmt::format("{:.1f}%", 100 * time.spread),
             fmt::format("{:.0f}", time.gflop_per_s), bytes_text(executor_memory(plan).total())});
  return table;
}

}  // namespace

void bench_inference(const InferenceBench& bench) {
  InferenceWorkload work(bench);
  if (bench.compile.timing && (!bench.ranks || bench.ranks->is_first())) print_timing(work.compilation());
  const InferenceTime time = work.measure();
  if (bench.ranks && !bench.ranks->is_first()) return;
  const TextTable table = to_table(bench, work.plan(), time);
  fmt::print("{}\n", bench.json ? to_json(bench, work.plan(), time).dump() : table.text());
  std::string markdown = table.markdown();
  if (bench.profile) {
    Executor& executor = work.executor();
    const TextTable steps = step_table(work.compilation().program, executor.profile(),
                                       copy_bytes_per_second(executor, bench.threads));
    fmt::print("\n{}", steps.text());
    markdown += "\n" + steps.markdown();
  }
  if (bench.output.empty()) return;
  write_file(bench.output + ".json", to_json(bench, work.plan(), time).dump(1) + "\n");
  write_file(bench.output + ".md", markdown);
}

}  // namespace smelt::cli
