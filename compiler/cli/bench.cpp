// smelt bench: training speed of a GPT-2 of any shape, and where the time goes.
#include <fmt/format.h>
#include <omp.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <random>

#include "compiler/cli/command.h"
#include "compiler/cli/compile_flags.h"
#include "compiler/cli/copy_bandwidth.h"
#include "compiler/cli/model.h"
#include "compiler/cli/step_cost.h"
#include "compiler/cli/text_table.h"
#include "compiler/cli/timer.h"
#include "runtime/error.h"
#include "runtime/file.h"
#include "runtime/smelt.h"

namespace smelt::cli {
namespace {

struct BenchCommand {
  int64_t layers = 4, width = 128, heads = 4, vocabulary = 256, length = 128, batch = 16;
  double dropout = 0.1;
  int steps = 6, warm_up = 2, threads = 0;
  bool profile = false, json = false;
  std::string output;
  CompileFlags flags;
};

struct Result {
  int threads = 0;
  int64_t parameters = 0, planned_bytes = 0, peak_mib = 0, imported_mib = 0;
  double compile_seconds = 0, seconds = 0, spread = 0, tokens_per_s = 0, gflop_per_s = 0;
};

int64_t peak_mib() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

Description describe(const BenchCommand& o) {
  const Json spec = {{"family", "gpt2"},
                     {"vocab_size", o.vocabulary},
                     {"hidden", o.width},
                     {"max_positions", o.length},
                     {"decoder", {{"layers", o.layers}, {"heads", o.heads}}}};
  return {Description::Kind::spec, "bench", spec_from_object(spec, "bench"), nullptr, Json::object(), {}};
}

CompileOptions compile_options(const BenchCommand& options) {
  CompileOptions result = options.flags.options();
  result.mode = Mode::train;
  result.entries = {"train_step"};
  result.build.dropout = options.dropout;
  result.training.accumulation = false;
  result.training.optimizer.weight_decay = 0.01;
  result.training.optimizer.decay_all = true;
  default_bound(result.build.bounds, "B", options.batch);
  default_bound(result.build.bounds, "T", options.length);
  return result;
}

/// The training step of one model on random tokens.
class Workload {
 public:
  explicit Workload(const BenchCommand& options)
      : options_(options), ids_(random_ids(1)), labels_(random_ids(2)) {
    compilation_ = compile(describe(options), compile_options(options));
    if (options.flags.timing) print_timing(compilation_);
    plan_ = std::make_shared<const Plan>(std::move(compilation_.plan));
    session_ = std::make_unique<Session>(
        plan_, SessionOptions{.threads = options.threads, .profile = options.profile});
    session_->initialize(1);
    session_->scalar("learning_rate") = 1e-3f;
  }

  void step() {
    const std::vector<int64_t> shape = {options_.batch, options_.length};
    const InputTensor inputs[] = {{"input_ids", DType::i32, shape, ids_.data()},
                                  {"labels", DType::i32, shape, labels_.data()}};
    session_->set_random(0, step_++);
    for (const HostTensor& output : session_->run("train_step", inputs))
      if (output.name == "loss" && !std::isfinite(output.as<float>()[0]))
        fail("the loss of step {} is not finite", step_);
  }

  int64_t parameters() const {
    int64_t count = 0;
    for (const Segment& segment : plan_->find_state("parameters")->segments) count += segment.elements();
    return count;
  }

  const Plan& plan() const { return *plan_; }
  const Compilation& compilation() const { return compilation_; }
  Executor& executor() { return session_->executor(); }

 private:
  std::vector<int32_t> random_ids(unsigned seed) const {
    std::mt19937 random(seed);
    std::uniform_int_distribution<int32_t> id(0, static_cast<int32_t>(options_.vocabulary) - 1);
    std::vector<int32_t> ids(static_cast<size_t>(options_.batch * options_.length));
    for (int32_t& i : ids) i = id(random);
    return ids;
  }

  const BenchCommand& options_;
  std::vector<int32_t> ids_, labels_;
  Compilation compilation_;
  std::shared_ptr<const Plan> plan_;
  std::unique_ptr<Session> session_;
  int64_t step_ = 0;
};

/// Multiply-adds as two, full attention counted.
double flop_of(const BenchCommand& o, int64_t parameters) {
  const double tokens = static_cast<double>(o.batch * o.length);
  const double weights = static_cast<double>(parameters - o.length * o.width);
  return 6 * weights * tokens + 12.0 * static_cast<double>(o.layers * o.length * o.width) * tokens;
}

Result figures(const BenchCommand& o, const Workload& work, std::vector<double> seconds,
               int64_t imported_mib) {
  std::ranges::sort(seconds);
  Result r;
  r.threads = o.threads > 0 ? o.threads : omp_get_max_threads();
  r.parameters = work.parameters();
  for (const auto& phase : work.compilation().seconds) r.compile_seconds += phase.second;
  r.seconds = seconds[seconds.size() / 2];
  r.spread = (seconds.back() - seconds.front()) / r.seconds;
  r.tokens_per_s = static_cast<double>(o.batch * o.length) / r.seconds;
  r.gflop_per_s = flop_of(o, r.parameters) / r.seconds / 1e9;
  r.planned_bytes = executor_memory(work.plan()).total();
  r.peak_mib = peak_mib();
  r.imported_mib = imported_mib;
  return r;
}

Json to_json(const BenchCommand& o, const Result& r) {
  return {{"smelt", SMELT_VERSION},
          {"threads", r.threads},
          {"layers", o.layers},
          {"width", o.width},
          {"heads", o.heads},
          {"vocabulary", o.vocabulary},
          {"length", o.length},
          {"batch", o.batch},
          {"dropout", o.dropout},
          {"parameters", r.parameters},
          {"compile_seconds", std::round(r.compile_seconds * 1e4) / 1e4},
          {"seconds", std::round(r.seconds * 1e5) / 1e5},
          {"spread", std::round(r.spread * 1e3) / 1e3},
          {"tokens_per_s", std::llround(r.tokens_per_s)},
          {"gflop_per_s", std::round(r.gflop_per_s * 10) / 10},
          {"planned_mib", r.planned_bytes >> 20},
          {"peak_mib", r.peak_mib},
          {"imported_mib", r.imported_mib}};
}

TextTable to_table(const BenchCommand& o, const Result& r) {
  TextTable table(
      {"shape", "tokens/s", "step", "spread", "GFLOP/s", "compile", "planned", "peak memory", "threads"});
  table.add({fmt::format("{} layers, {} wide, {} heads, V {}, T {}, B {}", o.layers, o.width, o.heads,
                         o.vocabulary, o.length, o.batch),
             fmt::format("{:.0f}", r.tokens_per_s), seconds_text(r.seconds),
             fmt::format("{:.1f}%", 100 * r.spread), fmt::format("{:.0f}", r.gflop_per_s),
             seconds_text(r.compile_seconds), bytes_text(r.planned_bytes), fmt::format("{} MiB", r.peak_mib),
             std::to_string(r.threads)});
  return table;
}

/// Equal steps (of different layers) in one row, the longest first.
struct ProfileRow {
  double seconds = 0, flops = 0;
  int64_t runs = 0, bytes = 0;
  std::string phase, sources;
};

TextTable profile_table(const BenchCommand& options, Workload& work) {
  const Program& program = work.compilation().program;
  const double copy = copy_bytes_per_second(options.threads);
  std::map<std::string, ProfileRow> rows;
  double total = 0;
  for (const StepTime& time : work.executor().profile()) {
    const Step& step = time.entry->steps[static_cast<size_t>(time.step)];
    ProfileRow& row = rows[step_name(program, step)];
    const StepCost cost = step_cost(program, step);
    row.seconds += time.seconds;
    row.runs += time.runs;
    row.bytes += cost.bytes * time.runs;
    row.flops += cost.flops * static_cast<double>(time.runs);
    row.phase = step.phase;
    if (row.sources.empty()) row.sources = step_sources(step, 50);
    total += time.seconds;
  }
  std::vector<std::pair<std::string, ProfileRow>> sorted(rows.begin(), rows.end());
  std::ranges::sort(sorted, [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });
  TextTable table(
      {"step", "phase", "runs", "ms a run", "share", "MiB a run", "GB/s", "of copy", "GFLOP/s", "sources"});
  for (const auto& [name, row] : sorted) {
    const double runs = static_cast<double>(row.runs), rate = static_cast<double>(row.bytes) / row.seconds;
    table.add({name, row.phase, std::to_string(row.runs), fmt::format("{:.3f}", row.seconds / runs * 1e3),
               fmt::format("{:.1f}%", 100 * row.seconds / total),
               fmt::format("{:.2f}", static_cast<double>(row.bytes) / runs / (1 << 20)),
               fmt::format("{:.1f}", rate / 1e9), fmt::format("{:.0f}%", 100 * rate / copy),
               fmt::format("{:.1f}", row.flops / row.seconds / 1e9), row.sources});
  }
  return table;
}

void run_bench(const BenchCommand& options) {
  const int64_t imported = peak_mib();
  Workload work(options);
  const std::vector<double> seconds =
      time_runs("train_step", options.warm_up, options.steps, [&] { work.step(); });
  const Result result = figures(options, work, seconds, imported);
  const TextTable table = to_table(options, result);
  std::string markdown = table.markdown();
  fmt::print("{}\n", options.json ? to_json(options, result).dump() : table.text());
  if (options.profile) {
    const TextTable profile = profile_table(options, work);
    fmt::print("{}", profile.text());
    markdown += "\n" + profile.markdown();
  }
  if (options.output.empty()) return;
  write_file(options.output + ".json", to_json(options, result).dump(1) + "\n");
  write_file(options.output + ".md", markdown);
}

}  // namespace

void add_bench(CLI::App& app) {
  auto options = std::make_shared<BenchCommand>();
  CLI::App* command = app.add_subcommand("bench", "Measure training steps of a GPT-2 of a given shape");
  const auto size = [&](const char* name, int64_t& value, const char* help) {
    command->add_option(name, value, help)->check(CLI::PositiveNumber)->capture_default_str();
  };
  size("--layers", options->layers, "blocks");
  size("--width", options->width, "hidden size");
  size("--heads", options->heads, "attention heads");
  size("--vocabulary", options->vocabulary, "token ids");
  size("--length", options->length, "tokens a window");
  size("--batch", options->batch, "windows a step");
  command->add_option("--dropout", options->dropout, "probability")->capture_default_str();
  command->add_option("--steps", options->steps, "steps with a clock; the median counts")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--warm-up", options->warm_up, "steps before that")->check(CLI::NonNegativeNumber);
  command->add_option("--threads", options->threads, "0: all cores")->check(CLI::NonNegativeNumber);
  command->add_flag("--profile", options->profile, "time, bytes and operations of every kind of step");
  command->add_flag("--json", options->json, "print one JSON line");
  command->add_option("-o,--output", options->output, "write FILE.json and FILE.md");
  options->flags.add_to(*command);
  on_call(command, options, run_bench);
}

}  // namespace smelt::cli
