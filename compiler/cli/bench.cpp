// smelt bench: training speed of a model, and where the time goes; operators against the memory's bandwidth.
#include <fmt/ranges.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>

#include "compiler/cli/bench_generation.h"
#include "compiler/cli/bench_inference.h"
#include "compiler/cli/bench_operators.h"
#include "compiler/cli/bench_pipeline.h"
#include "compiler/cli/bench_profile.h"
#include "compiler/cli/bench_workload.h"
#include "compiler/cli/choice_text.h"
#include "compiler/cli/command.h"
#include "compiler/cli/compile_flags.h"
#include "compiler/cli/model.h"
#include "compiler/cli/search/search_flags.h"
#include "compiler/cli/text_table.h"
#include "compiler/cli/timer.h"
#include "compiler/cli/train_ranks.h"
#include "compiler/sharing.h"
#include "runtime/error.h"
#include "runtime/smelt.h"
#include "runtime/system/file.h"

namespace smelt::cli {
namespace {

struct BenchCommand {
  std::vector<std::string> models;
  int64_t layers = 4, width = 128, heads = 4, vocabulary = 256, length = 128, batch = 16;
  double dropout = 0.1;
  int steps = 6, warm_up = 2, threads = 0, accumulate = 1;
  std::optional<int> together;
  bool profile = false, json = false, infer = false, generate = false, sample = false;
  int64_t new_tokens = 32, beams = 1;
  std::string output, trace, pipeline_order = "1f1b";
  CompileFlags flags;
  SearchFlags search;

  bool has_model() const { return !models.empty(); }
};

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

Description describe(const BenchCommand& o) {
  if (o.has_model()) return read_description(model_path(o.models[0]));
  const Json spec = {{"family", "gpt2"},
                     {"vocab_size", o.vocabulary},
                     {"hidden", o.width},
                     {"max_positions", o.length + (o.generate ? o.new_tokens : 0)},
                     {"decoder", {{"layers", o.layers}, {"heads", o.heads}}}};
  return {Description::Kind::spec, "bench", spec_from_object(spec, "bench"), nullptr, Json::object(), {}};
}

CompileOptions compile_options(const BenchCommand& options, TrainRanks* ranks) {
  CompileOptions result = options.flags.options();
  if (ranks) result.mesh = ranks->mesh(), result.stage = ranks->stage();
  if (ranks && options.flags.target != "cpu") result.device = ranks->device();
  result.mode = Mode::train;
  const bool accumulates = options.accumulate > 1;
  const bool has_stages = pipeline_stages(result.mesh) > 1;
  result.entries = has_stages    ? std::vector<std::string>{}
                   : accumulates ? std::vector<std::string>{"accumulate", "apply"}
                                 : std::vector<std::string>{"train_step"};
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

/// What was trained: the model at its bounds.
std::string workload_text(const BenchCommand& o) {
  if (o.has_model())
    return fmt::format("{} {} {} {}", std::filesystem::path(o.models[0]).stem().string(),
                       fmt::join(o.flags.bounds, ","), o.flags.precision, o.flags.target);
  return fmt::format("{} layers, {} wide, {} heads, V {}, T {}, B {}", o.layers, o.width, o.heads,
                     o.vocabulary, o.length, o.batch);
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

void run_operators(const BenchCommand& o) {
  if (o.profile) fail("--profile shows where a training step goes: leave it out for graphs in text form");
  if (o.accumulate > 1) fail("--accumulate is for models: leave it out for graphs in text form");
  if (o.infer || o.generate)
    fail("--infer and --generate are for models: leave them out for graphs in text form");
  CompileOptions compile = o.flags.options();
  compile.mode = Mode::infer;
  bench_operators({.graphs = o.models,
                   .compile = std::move(compile),
                   .threads = o.threads,
                   .warm_up = o.warm_up,
                   .steps = o.steps,
                   .together = o.together,
                   .json = o.json,
                   .timing = o.flags.timing,
                   .output = o.output});
}

/// Sizes that --max does not give are those of the prompts.
void run_generation(const BenchCommand& o, InferenceRanks* ranks) {
  GenerationBench bench{.description = describe(o),
                        .compile = o.flags.options(),
                        .name = workload_text(o),
                        .batch = o.batch,
                        .prompt = o.length,
                        .new_tokens = o.new_tokens,
                        .beams = o.beams,
                        .threads = o.threads,
                        .warm_up = o.warm_up,
                        .steps = o.steps,
                        .sample = o.sample,
                        .profile = o.profile,
                        .json = o.json,
                        .timing = o.flags.timing,
                        .plan_cache = o.flags.uses_plan_cache() && !o.profile,
                        .output = o.output,
                        .ranks = ranks};
  if (ranks) ranks->add_to(bench.compile);
  if (o.new_tokens < 2)
    fail("--new-tokens {}: expected 2 or more, the first apart from the others", o.new_tokens);
  if (!keeps_caches(bench.description.spec, {.training = false, .caches = std::nullopt}))
    fail("{}: a model without caches generates nothing that is measured here", bench.name);
  const bool both = bench.description.spec.encoder.layers > 0;
  auto& bounds = bench.compile.build.bounds;
  bench.compile.mode = Mode::infer, bench.compile.build.caches = true;
  bench.compile.entries = cache_entries(both, bench.compile);
  default_bound(bounds, "B", o.batch * o.beams);
  default_bound(bounds, "T", (both ? 1 : o.length) + o.new_tokens);
  if (both) default_bound(bounds, "S", o.length);
  bench_generation(bench);
}

/// Sizes that --max does not give are --batch and --length.
void run_inference(const BenchCommand& o, InferenceRanks* ranks) {
  InferenceBench bench{.description = describe(o),
                       .compile = o.flags.options(),
                       .name = workload_text(o),
                       .threads = o.threads,
                       .warm_up = o.warm_up,
                       .steps = o.steps,
                       .together = o.together,
                       .profile = o.profile,
                       .json = o.json,
                       .timing = o.flags.timing,
                       .plan_cache = o.flags.uses_plan_cache() && !o.profile,
                       .output = o.output,
                       .ranks = ranks};
  if (ranks) ranks->add_to(bench.compile);
  bench.compile.mode = Mode::infer, bench.compile.build.caches = false, bench.compile.entries = {"logits"};
  auto& bounds = bench.compile.build.bounds;
  default_bound(bounds, "B", o.batch);
  const TransformerSpec& spec = bench.description.spec;
  if (spec.embedding.patch_size == 0) default_bound(bounds, "T", o.length);
  if (spec.encoder.layers > 0 && spec.decoder.layers > 0) default_bound(bounds, "S", o.length);
  bench_inference(bench);
}

BenchWorkload::Options workload_options(const BenchCommand& options, TrainRanks* ranks) {
  return {.threads = options.threads,
          .profile = options.profile,
          .accumulate = options.accumulate,
          .plan_cache = options.flags.uses_plan_cache() && !options.profile,  // steps are looked up
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

/// The first rank says what all of them took. `chosen`: null, or what a search for plans predicted.
void run_training(const BenchCommand& options, TrainRanks* ranks, const ChosenPlan* chosen) {
  if (options.profile) require_no_stages(options.flags.mesh);
  const int64_t imported = peak_mib();
  BenchWorkload work(describe(options), compile_options(options, ranks), workload_options(options, ranks));
  if (options.flags.timing) print_timing(work.compilation());
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

SearchedModel searched(const BenchCommand& options, int device) {
  SearchedModel model{describe(options), compile_options(options, nullptr), options.accumulate};
  if (options.flags.target != "cpu") model.options.device = device;
  return model;
}

/// The command as if it had been given what was chosen.
BenchCommand with_choice(BenchCommand options, const ChosenPlan& chosen) {
  chosen.apply(options.flags);
  options.batch = chosen.batch;
  options.accumulate = static_cast<int>(chosen.micro_batches);
  options.pipeline_order = "1f1b";  // or interleaved, where stages have several parts
  return options;
}

void run_bench(const BenchCommand& options) {
  if (are_graphs(options.models)) return run_operators(options);
  if (options.generate || options.infer) require_no_stages(options.flags.mesh);
  if (options.generate || options.infer)
    return infer_over_ranks(options.flags.mesh, "bench", [&](InferenceRanks* ranks) {
      (options.generate ? run_generation : run_inference)(options, ranks);
    });
  train_over_ranks(
      options.search, options.flags.mesh, [&](int device) { return searched(options, device); },
      [&](TrainRanks* ranks, const ChosenPlan* chosen) {
        run_training(chosen ? with_choice(options, *chosen) : options, ranks, chosen);
      });
}

}  // namespace

void add_bench(CLI::App& app) {
  auto options = std::make_shared<BenchCommand>();
  CLI::App* command = app.add_subcommand(
      "bench", "Measure training steps of a description, or of a GPT-2 of a given shape; or operators");
  command->add_option(
      "model", options->models,
      "model directory or spec (.json), or graphs in text form (.ir), each an operator that is timed "
      "forward and backward; sizes come from --max");
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
  command
      ->add_option(
          "--together", options->together,
          "steps between two looks at the clock (a GPU runs behind its host); default: 1, of operators and "
          "with --infer those of 20 ms")
      ->check(CLI::PositiveNumber);
  command->add_option("--threads", options->threads, "0: all cores")->check(CLI::NonNegativeNumber);
  auto* accumulate =
      command
          ->add_option("--accumulate", options->accumulate, "batches an update, whose gradients are added up")
          ->check(CLI::PositiveNumber)
          ->capture_default_str();
  command
      ->add_option("--pipeline-order", options->pipeline_order,
                   "in which order the stages of --mesh stage=N work on --accumulate micro-batches")
      ->check(CLI::IsMember({"gpipe", "1f1b", "interleaved"}))
      ->capture_default_str();
  command->add_flag("--profile", options->profile, "time, bytes and operations of every kind of step")
      ->excludes(accumulate);
  auto* trace = command
                    ->add_option("--trace", options->trace,
                                 "with --profile: write the last step for Perfetto (trace events, JSON)")
                    ->needs("--profile");
  auto* generate =
      command
          ->add_flag("--generate", options->generate,
                     "measure generation in place of training: --batch prompts of --length random tokens")
          ->excludes(trace);
  command
      ->add_flag("--infer", options->infer,
                 "measure runs of the outputs in place of training: --batch sequences of --length tokens")
      ->excludes(generate, accumulate, trace);
  const auto counted = [&](const char* name, int64_t& value, const char* help) {
    command->add_option(name, value, help)
        ->check(CLI::PositiveNumber)
        ->capture_default_str()
        ->needs(generate);
  };
  counted("--new-tokens", options->new_tokens, "tokens behind each prompt, 2 or more");
  counted("--num-beams", options->beams, "of each prompt");
  command->add_flag("--sample", options->sample, "draw from the 50 best that hold 0.9 of the probability")
      ->needs(generate);
  command->add_flag("--json", options->json, "print one JSON line, with the seconds of starting by part");
  command->add_option("-o,--output", options->output, "write FILE.json and FILE.md");
  options->flags.add_to(*command);
  options->flags.add_inputs(*command);
  options->flags.add_mesh(*command);
  options->flags.memory.add_to(*command);
  options->search.add_to(*command);
  on_call(command, options, run_bench);
}

}  // namespace smelt::cli
