#include "compiler/cli/commands/bench_training.h"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "compiler/cli/commands/bench_pipeline.h"
#include "compiler/cli/commands/bench_workload.h"
#include "compiler/cli/shared/model.h"
#include "compiler/cli/shared/program_text.h"
#include "compiler/cli/shared/text_table.h"
#include "compiler/cli/shared/timer.h"
#include "compiler/driver/pipeline_stages.h"
#include "runtime/base/error.h"
#include "runtime/smelt.h"
#include "runtime/system/file.h"

namespace smelt::cli {

CompileOptions training_options(const BenchCommand& options, const Description& description,
                                TrainRanks* ranks) {
  CompileOptions result = profiled_options(options);  // steps are looked up
  if (ranks) result.mesh = ranks->mesh(), result.stage = ranks->stage();
  if (ranks && options.flags.values.target != "cpu") result.device = ranks->device();
  result.mode = Mode::train;
  const bool accumulates = options.accumulate > 1;
  const bool has_stages = pipeline_stages(result.mesh) > 1;
  result.entries = has_stages    ? std::vector<std::string>{}
                   : accumulates ? std::vector<std::string>{"accumulate", "apply"}
                                 : std::vector<std::string>{"train_step"};
  if (const auto adapter = adapter_of(options.adapter, &description)) result.build.lora = adapter->config;
  if (!options.has_model()) result.build.dropout = options.dropout;
  result.training.accumulation = accumulates || has_stages;
  result.training.optimizer.keep_gradients = false;
  result.training.optimizer.weight_decay = 0.01;
  result.training.optimizer.decay_all = true;
  if (options.has_model()) return result;
  default_bound(result.build.bounds, "B", options.batch);
  default_bound(result.build.bounds, "T", options.length);
  return result;
}

namespace {

struct Result {
  int threads = 0;
  int64_t ranks = 1, parameters = 0, planned_bytes = 0, peak_mib = 0, imported_mib = 0;
  double compile_seconds = 0, first_step_seconds = 0, seconds = 0, spread = 0, tokens_per_s = 0,
         gflop_per_s = 0;
  SecondsByPart startup;
  Json states;                                      // where they lie
  std::map<std::string, std::string> alternatives;  // taken, by kind of work
  float loss = 0;                                   // of the last step
  std::optional<BenchBubble> bubble;                // of a pipeline
};

/// Ranks along the axis `data` have a batch each.
int64_t batches(const BenchCommand& o, const BenchWorkload& work) {
  const Mesh& mesh = work.plan().mesh;
  const auto data = mesh.find("data");
  return o.accumulate * (data ? mesh.axes[*data].size : 1);
}

Result figures(const BenchCommand& o, BenchWorkload& work, std::vector<double> seconds,
               int64_t imported_mib) {
  std::ranges::sort(seconds);
  Result r;
  r.threads = o.threads > 0 ? o.threads : omp_get_max_threads();
  r.parameters = work.parameters();
  for (const auto& phase : work.compilation().seconds) r.compile_seconds += phase.second;
  r.first_step_seconds = work.seconds_to_first_step();
  r.startup = work.startup();
  r.seconds = seconds[seconds.size() / 2];
  r.spread = (seconds.back() - seconds.front()) / r.seconds;
  r.ranks = work.plan().mesh.ranks();
  r.tokens_per_s = static_cast<double>(batches(o, work) * work.tokens()) / r.seconds;
  r.gflop_per_s = static_cast<double>(o.accumulate * r.ranks) * work.matrix_flops() / r.seconds / 1e9;
  r.planned_bytes = executor_memory(work.plan()).total(), r.states = work.states_json();
  r.peak_mib = peak_mib();
  r.imported_mib = imported_mib;
  r.loss = work.loss();
  r.alternatives = taken_alternatives(work.executor().taken());
  return r;
}

Json startup_json(const Result& r) {
  Json json = Json::object();
  for (const auto& [part, seconds] : r.startup) json[part] = std::round(seconds * 1e3) / 1e3;
  return json;
}

Json to_json(const BenchCommand& o, const Result& r) {
  return {{"smelt", SMELT_VERSION},
          {"workload", workload_text(o)},
          {"threads", r.threads},
          {"ranks", r.ranks},
          {"layers", o.layers},
          {"width", o.width},
          {"heads", o.heads},
          {"vocabulary", o.vocabulary},
          {"length", o.length},
          {"batch", o.batch},
          {"dropout", o.dropout},
          {"accumulate", o.accumulate},
          {"first_step_seconds", std::round(r.first_step_seconds * 1e3) / 1e3},
          {"startup", startup_json(r)},
          {"parameters", r.parameters},
          {"compile_seconds", std::round(r.compile_seconds * 1e4) / 1e4},
          {"seconds", std::round(r.seconds * 1e5) / 1e5},
          {"spread", std::round(r.spread * 1e3) / 1e3},
          {"tokens_per_s", std::llround(r.tokens_per_s)},
          {"gflop_per_s", std::round(r.gflop_per_s * 10) / 10},
          {"planned_mib", r.planned_bytes >> 20},
          {"states", r.states},
          {"peak_mib", r.peak_mib},
          {"imported_mib", r.imported_mib},
          {"bubble", to_json(r.bubble)},
          {"alternatives", r.alternatives},
          {"loss", r.loss}};
}

TextTable to_table(const BenchCommand& o, const Result& r) {
  TextTable table({"shape", "tokens/s", "step", "spread", "GFLOP/s", "compile", "first step", "planned",
                   "peak memory", "threads"});
  table.add({workload_text(o), fmt::format("{:.0f}", r.tokens_per_s), seconds_text(r.seconds),
             fmt::format("{:.1f}%", 100 * r.spread), fmt::format("{:.0f}", r.gflop_per_s),
             seconds_text(r.compile_seconds), seconds_text(r.first_step_seconds), bytes_text(r.planned_bytes),
             fmt::format("{} MiB", r.peak_mib), std::to_string(r.threads)});
  return table;
}

BenchWorkload::Options workload_options(const BenchCommand& options, TrainRanks* ranks) {
  return {.threads = options.threads,
          .profile = options.profile,
          .accumulate = options.accumulate,
          .ranks = ranks ? &ranks->groups() : nullptr,
          .order = *parse_pipeline_order(options.pipeline_order)};
}

/// Prints the profile, and returns it as Markdown.
std::string report_profile(const BenchCommand& options, BenchWorkload& work) {
  std::string markdown;
  for (const TextTable& profile : profile_tables(work, options.threads)) {
    fmt::print("\n{}", profile.text());
    markdown += "\n" + profile.markdown();
  }
  if (!options.trace.empty()) write_file(options.trace, trace_events(work));
  return markdown;
}

}  // namespace

void bench_training(const BenchCommand& options, TrainRanks* ranks, const ChosenPlan* chosen) {
  if (options.profile) require_no_stages(options.flags.values.mesh);
  const int64_t imported = peak_mib();
  const Description description = describe(options);
  BenchWorkload work(description, training_options(options, description, ranks),
                     workload_options(options, ranks));
  if (options.flags.values.timing) print_timing(work.compilation());
  const UpdateClock clock{options.together.value_or(1), options.warm_up, options.steps};
  const std::vector<double> seconds = timed_updates(work, clock);
  const auto bubble = timed_bubble(work, clock, options.accumulate, seconds);
  if (ranks && ranks->groups().rank() > 0) return;
  Result result = figures(options, work, seconds, imported);
  result.bubble = bubble;
  const TextTable table = to_table(options, result);
  std::string markdown = table.markdown();
  fmt::print("{}\n", options.json ? to_json(options, result).dump() : table.text());
  if (result.bubble && !options.json) fmt::print("{}\n", bubble_text(*result.bubble, options.accumulate));
  if (chosen) fmt::print(stderr, "{}\n", prediction_text(*chosen, result.seconds));
  if (options.profile) markdown += report_profile(options, work);
  if (options.output.empty()) return;
  write_file(options.output + ".json", to_json(options, result).dump(1) + "\n");
  write_file(options.output + ".md", markdown);
}

}  // namespace smelt::cli
