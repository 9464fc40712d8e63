// smelt bench: training speed of a model, and where the time goes; operators against the memory's bandwidth.
#include <fmt/ranges.h>

#include <filesystem>

#include "compiler/cli/command.h"
#include "compiler/cli/commands/bench_generation.h"
#include "compiler/cli/commands/bench_inference.h"
#include "compiler/cli/commands/bench_operators.h"
#include "compiler/cli/commands/bench_training.h"
#include "compiler/cli/shared/model.h"
#include "compiler/driver/pipeline_stages.h"
#include "runtime/base/error.h"

namespace smelt::cli {

Description describe(const BenchCommand& o) {
  if (o.has_model()) return read_description(model_path(o.models[0]));
  const Json spec = {{"family", "gpt2"},
                     {"vocab_size", o.vocabulary},
                     {"hidden", o.width},
                     {"max_positions", o.length + (o.generate ? o.new_tokens : 0)},
                     {"decoder", {{"layers", o.layers}, {"heads", o.heads}}}};
  return {Description::Kind::spec, "bench", spec_from_object(spec, "bench"), nullptr, Json::object(), {}};
}

std::string workload_text(const BenchCommand& o) {
  if (o.has_model())
    return fmt::format("{} {} {} {}", std::filesystem::path(o.models[0]).stem().string(), o.flags.text("max"),
                       o.flags.text("precision"), o.flags.values.target);
  return fmt::format("{} layers, {} wide, {} heads, V {}, T {}, B {}", o.layers, o.width, o.heads,
                     o.vocabulary, o.length, o.batch);
}

CompileOptions profiled_options(const BenchCommand& options) {
  CompileOptions result = options.flags.options();
  result.no_plan_cache |= options.profile;
  return result;
}

namespace {

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
                   .output = o.output});
}

/// Sizes that --max does not give are those of the prompts.
void run_generation(const BenchCommand& o, InferenceRanks* ranks) {
  GenerationBench bench{.description = describe(o),
                        .compile = profiled_options(o),
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
                       .compile = profiled_options(o),
                       .name = workload_text(o),
                       .threads = o.threads,
                       .warm_up = o.warm_up,
                       .steps = o.steps,
                       .together = o.together,
                       .profile = o.profile,
                       .json = o.json,
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

SearchedModel searched(const BenchCommand& options, int device) {
  const Description description = describe(options);
  SearchedModel model{description, training_options(options, description, nullptr), options.accumulate};
  if (options.flags.values.target != "cpu") model.options.device = device;
  return model;
}

/// The command as if it had been given what was chosen.
BenchCommand with_choice(BenchCommand options, const ChosenPlan& chosen) {
  chosen.apply(options.flags.values);
  options.batch = chosen.batch;
  options.accumulate = static_cast<int>(chosen.micro_batches);
  options.pipeline_order = "1f1b";  // or interleaved, where stages have several parts
  return options;
}

void run_bench(const BenchCommand& options) {
  if (are_graphs(options.models)) return run_operators(options);
  if (options.generate || options.infer) require_no_stages(options.flags.values.mesh);
  if (options.generate || options.infer)
    return infer_over_ranks(options.flags.values.mesh, "bench", [&](InferenceRanks* ranks) {
      (options.generate ? run_generation : run_inference)(options, ranks);
    });
  train_over_ranks(
      options.search, options.flags.values.mesh, [&](int device) { return searched(options, device); },
      [&](TrainRanks* ranks, const ChosenPlan* chosen) {
        bench_training(chosen ? with_choice(options, *chosen) : options, ranks, chosen);
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
  using enum OptionGroup;
  options->flags.add_to(*command, {inputs, caches, cache_storage, sampling, trained, memory, ranks, mesh});
  options->adapter.add_new(*command);
  options->search.add_to(*command);
  on_call(command, options, run_bench);
}

}  // namespace smelt::cli
