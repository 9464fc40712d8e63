// smelt train: compiles a description for training, trains it on data, and leaves a run directory.
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <future>
#include <iostream>

#include "compiler/cli/command.h"
#include "compiler/cli/commands/doctor.h"
#include "compiler/cli/commands/train_ranks.h"
#include "compiler/cli/commands/train_report.h"
#include "compiler/cli/shared/anomaly.h"
#include "compiler/cli/shared/class_names.h"
#include "compiler/cli/shared/config_file.h"
#include "compiler/cli/shared/data_flags.h"
#include "compiler/cli/shared/evaluation_flags.h"
#include "compiler/cli/shared/model.h"
#include "compiler/cli/shared/prompt_text.h"
#include "compiler/cli/shared/subprocess.h"
#include "compiler/cli/shared/text_table.h"
#include "compiler/cli/shared/trainer_flags.h"
#include "ir/text/text.h"
#include "runtime/base/error.h"
#include "runtime/engine/generation/generator.h"
#include "runtime/engine/training/trainer.h"
#include "runtime/plan/device_kind.h"
#include "runtime/system/file.h"

namespace smelt::cli {
namespace {

namespace fs = std::filesystem;

constexpr double kSecondsToDraw = 5;  // a block takes less than one; whatever takes longer stays text

struct TrainCommand {
  std::string model, run_directory, pipeline_order = "1f1b", prompt = "\n", config;
  int64_t length = 0, sample_tokens = 200;
  double sample_temperature = 0.8;
  bool detect_anomaly = false, quiet = false;
  TrainerOptions trainer;
  CompileFlags flags;
  WeightFlags weights;
  DataFlags data;
  EvaluationFlags evaluation;
  SearchFlags search;
};

constexpr int kSignalStatus = 128;  // of a process that a signal ended, plus its number, as in a shell

volatile std::sig_atomic_t end_signal = 0;

/// The first signal ends the run with a checkpoint, the second at once. A SIGHUP that is ignored, as under
/// nohup, stays so.
void stop_on_signals() {
  struct sigaction action{}, hangup{};
  action.sa_handler = [](int signal) { end_signal = signal; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  ::sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) ::sigaction(SIGHUP, &action, nullptr);
}

/// Prints what also a run without progress says.
class Warnings : public TrainerObserver {
 public:
  void warned(std::string_view text) override { fmt::print(stderr, "{}\n", text); }
};

class Run {
 public:
  /// `ranks`: null, or this process's place among others that train the same. `chosen`: null, or the plan
  /// that was searched for.
  Run(const TrainCommand& options, const CLI::App& command, TrainRanks* ranks,
      const ChosenPlan* chosen = nullptr)
      : options_(options), ranks_(ranks), chosen_(chosen), resolved_(resolved_config(command)) {}

  /// Returns the input of a plan search on this device, before anything is compiled. Throws Error for a plan,
  /// which is already compiled.
  SearchedModel searched(int device) {
    open();
    if (!model_.description)
      fail("{}: --plan-search compiles a description, and this is a plan", model_.path.string());
    if (options_.flags.values.target != "cpu") compile_options_.device = device;
    for (Symbols::Bound& bound : compile_options_.build.bounds)  // --max may allow more than is used
      if (bound.factors == std::vector<std::string>{"B"}) bound.upper = options_.trainer.batch;
    return {std::move(*model_.description), compile_options_, options_.trainer.gradient_accumulation,
            no_stages()};
  }

  /// Returns the exit status: that of a signal where one stopped the run early, at rank 0.
  int run() {
    compile_model();
    const DataSplit data = options_.data.open(model_, fed_entry(*model_.plan, options_.trainer), read_.get());
    make_session();
    if (options_.trainer.sample_every > 0) prepare_samples();
    if (options_.evaluation.translations > 0)
      translations_.emplace(*session_, model_, data.held_back, options_.evaluation.translations);
    Trainer trainer(*session_, trainer_options(), data);
    if (ranks_) ranks_->agree(*model_.plan, trainer.describe_data(), trainer_options());
    TerminalProgress progress(std::cerr, terminal_style(STDERR_FILENO));
    Warnings warnings;
    if (!is_quiet())
      trainer.add_observer(progress);
    else if (is_first())
      trainer.add_observer(warnings);
    begin(trainer);
    describe_run();
    return train(trainer);
  }

 private:
  /// The description or plan, and the options that it is compiled with.
  void open() {
    CompileOptions& compile_options = compile_options_;
    compile_options = options_.flags.options();
    compile_options.mode = Mode::train;
    if (ranks_) compile_options.mesh = ranks_->mesh(), compile_options.device = device();
    if (ranks_) compile_options.stage = ranks_->stage();
    compile_options.training.accumulation = options_.trainer.gradient_accumulation > 1;
    compile_options.training.optimizer.keep_gradients = false;
    compile_options.training.optimizer.scaling.limits_norm = options_.trainer.on_spike == SpikeAction::skip;
    model_ = open_model(options_.model, options_.weights);
    model_.begins_heads = true;
    if (model_.adapter) compile_options.build.lora = model_.adapter->config;
    options_.data.read_segments(model_, compile_options.build);
    bound_sizes(compile_options.build.bounds);
  }

  void check_schedule() const {
    const bool is_free = compile_options_.training.optimizer.optimizer == Optimizer::schedule_free_adamw;
    if (is_free && options_.trainer.schedule != ScheduleKind::constant)
      fail(
          "--optimizer=schedule-free-adamw averages instead of lowering the rate: give --schedule=constant, "
          "with "
          "a --warmup, in place of {}",
          name(options_.trainer.schedule));
  }

  void compile_model() {
    open();
    check_schedule();
    compile_options_.no_plan_cache |= options_.detect_anomaly;  // which needs the graph
    CompileFlags flags = options_.flags;
    flags.says_memory = is_first();
    smelt::cli::compile_model(model_, compile_options_, flags);
    if (options_.detect_anomaly && !model_.compilation)
      fail(
          "--detect-anomaly needs the description: a plan does not hold the graph that it looks values up "
          "in");
    require_training();
    if (!ranks_) return;
    ranks_->require_plan(*model_.plan);
    ranks_->agree_stages(*model_.plan, model_.description ? &compile_options_ : nullptr);
  }

  /// Returns the option of the command that needs whole models; empty where there is none.
  std::string no_stages() const {
    if (options_.trainer.sample_every > 0) return "--sample-every needs the whole model at a rank";
    if (options_.evaluation.needs_logits()) return "--token-accuracy and --translations need the whole model";
    return options_.detect_anomaly ? "--detect-anomaly looks at whole training steps" : "";
  }

  bool on_gpu() const { return device_kind(model_.plan->target).own_memory; }

  /// Ranks of a host have a GPU each; those of a CPU plan need none.
  int device() const { return options_.flags.values.target == "cpu" ? -1 : ranks_->device(); }

  void bound_sizes(std::vector<Symbols::Bound>& bounds) {
    model_.bounds.add(bounds, "B", options_.trainer.batch, "--batch");
    if (options_.length > 0) model_.bounds.add(bounds, "T", options_.length, "--length");
    if (ranks_ && std::ranges::count(options_.data.data, "-") > 0)
      fail("--data -: several ranks cannot read one standard input: name a file");
    read_ = options_.data.read(model_, bounds);
    if (read_) note(read_->summary());
    options_.data.bound_lengths(model_, read_.get(), bounds, model_.bounds);
  }

  void require_training() const {
    const std::string entry = fed_entry(*model_.plan, options_.trainer);
    if (model_.plan->find_entry(entry)) return;
    if (!model_.description)
      fail("{}: the plan has no entry '{}': compile its description with --mode=train", model_.path.string(),
           entry);
    fail(
        "{}: there is nothing to train: expected a graph @loss, which returns loss_sum and token_count "
        "(docs/guides/models.md); the graphs are {}",
        model_.path.string(), names_of_entries(*model_.plan));
  }

  void make_session() {
    SessionOptions session_options = options_.weights.session_options();
    if (ranks_) session_options.ranks = &ranks_->groups(), session_options.device = on_gpu() ? device() : -1;
    if (options_.detect_anomaly)
      session_options.after_step = anomaly_detector(model_.plan, *model_.compilation->fused);
    session_ = smelt::cli::make_session(model_, session_options);
    session_->initialize(options_.weights.seed);
  }

  /// Tells what the run before had other values of, also where they keep this one from going on.
  void tell_changed_options() const {
    const fs::path file = fs::path(options_.run_directory) / "train.json";
    if (!options_.trainer.resume || !is_first() || !fs::exists(file)) return;
    const std::string changed = changed_options(parse_json_or_null(read_text_file(file)), resolved_);
    if (!changed.empty())
      fmt::print(stderr, "{} is resumed with other options: {}\n", options_.run_directory, changed);
  }

  void warn(const std::vector<std::string>& warnings) const {
    for (const std::string& text : warnings)
      if (is_first()) fmt::print(stderr, "warning: {}\n", text);
  }

  /// Continues from a checkpoint, or else starts from weights, which hold what no checkpoint does. A run that
  /// cannot continue ends here, with nothing written.
  void begin(Trainer& trainer) {
    tell_changed_options();
    const bool holds_all = std::ranges::none_of(model_.plan->states, &State::from_model);
    if (!holds_all && model_.weights) warn(load_weights(*session_, model_));
    if (const int64_t step = trainer.restore()) return note(fmt::format("resumed at step {}", step));
    if (!model_.weights) return note("initial weights");
    if (holds_all) warn(load_weights(*session_, model_));
    const Weights& weights = *model_.weights;
    note(weights.note.empty() ? fmt::format("weights of {}", weights.tensors->path().string())
                              : weights.note);
  }

  /// A sample continues a prompt.
  void require_samples() const {
    const PlanEntry* entry = model_.plan->find_entry("logits");
    const auto source = [](const Port& port) { return port.name == "decoder_input_ids"; };
    if (!entry || entry->outputs.empty() || entry->outputs[0].shape.size() != 3 ||
        std::ranges::any_of(entry->inputs, source))
      fail("--sample-every {}: only a decoder alone goes on from a prompt; leave it out for this model",
           options_.trainer.sample_every);
  }

  /// Prepares the samples. Errors of the prompt or its tokenizer are reported before the first step.
  void prepare_samples() {
    require_samples();
    texts_.emplace(model_, Generator(*session_).vocabulary(), true);
    if (texts_->known()) sample_prompt_ = texts_->encode(options_.prompt);
    if (sample_prompt_.empty()) sample_prompt_ = {first_token()};
  }

  TrainerOptions trainer_options() const {
    TrainerOptions trainer = options_.trainer;
    trainer.run_directory = options_.run_directory;
    trainer.pipeline_order = *parse_pipeline_order(options_.pipeline_order);
    if (options_.length > 0)
      trainer.length = options_.length;
    else if (options_.data.has_length(model_))
      trainer.length = model_.longest_labels();
    trainer.pack = options_.data.packs(model_);
    trainer.document_end = options_.data.document_end_of(model_);
    trainer.seed = options_.weights.seed;
    return trainer;
  }

  /// Writes files that describe the run: the resolved options and the model before its first step, the fused
  /// graph while it runs.
  void describe_run() {
    if (options_.run_directory.empty() || !is_first()) return;
    const fs::path directory = options_.run_directory;
    make_directories(directory);
    write_file(directory / "train.json", resolved_.dump(2) + "\n");
    if (!model_.adapter) save_description(model_, directory / "model");
    save_class_names();
    if (model_.compilation) graph_files_ = std::async(std::launch::async, [this] { try_write_graph(); });
  }

  /// Writes the names of the classes for commands that read the run.
  void save_class_names() const {
    if (!read_) return;
    write_class_names(options_.run_directory, read_->class_names());
    if (!model_.adapter) write_class_names(fs::path(options_.run_directory) / "model", read_->class_names());
  }

  /// A picture that cannot be made is no reason to end a run.
  void try_write_graph() {
    try {
      write_graph();
    } catch (const std::exception& error) {
      note(fmt::format("the run continues without a picture of its graph: {}", error.what()));
    }
  }

  /// A plan from the cache comes without the fused graph: the passes make it again.
  std::unique_ptr<Module> make_fused() {
    std::unique_ptr<Module> built = std::move(model_.compilation->graph);
    return (built ? compile(std::move(built), compile_options_, Stage::fused)
                  : compile(*model_.description, compile_options_, Stage::fused))
        .fused;
  }

  /// The graph, and a picture of a block of it.
  void write_graph() {
    const auto made = model_.compilation->fused ? nullptr : make_fused();
    const Module& fused = made ? *made : *model_.compilation->fused;
    const fs::path directory = options_.run_directory;
    write_file(directory / "graph.ir", print(fused));
    if (const Graph* graph = fused.find_graph("train_step")) draw(*graph, directory);
  }

  /// A block of the graph.
  void draw(const Graph& graph, const fs::path& directory) const {
    const std::string layer = typical_layer(graph);
    write_file(directory / "graph.dot",
               dot(graph, [&](const Node& node) { return layer.empty() || layer_of(node) == layer; }));
    const std::string program = find_program("dot");
    if (program.empty()) return note("Graphviz is not installed: graph.dot is not drawn");
    const std::string picture = (directory / "graph.svg").string();
    if (!run_program({program, "-Tsvg", "-o", picture, (directory / "graph.dot").string()}, kSecondsToDraw))
      note(fmt::format("dot needed more than {} s: graph.dot is not drawn", kSecondsToDraw));
  }

  std::string sample() const {
    Generator generator(*session_);
    GenerationOptions generation;
    generation.max_new_tokens = options_.sample_tokens;
    generation.do_sample = options_.sample_temperature > 0;
    generation.temperature = options_.sample_temperature;
    generation.top_k = 0;
    generation.seed = options_.weights.seed;
    generation.sliding_window = true;
    const Generator::Tokens fresh = generator.generate(std::span(&sample_prompt_, 1), generation)[0];
    if (!texts_->known()) return fmt::format("{}", fmt::join(fresh, " "));
    Generator::Tokens all = sample_prompt_;
    all.insert(all.end(), fresh.begin(), fresh.end());
    return texts_->decode(all);
  }

  int32_t first_token() const {
    const bool known = model_.about.is_object() && model_.about["bos_token_id"].is_number_integer();
    return known ? model_.about["bos_token_id"].get<int32_t>() : 0;
  }

  int train(Trainer& trainer) {
    Figures figures;
    trainer.add_observer(figures);
    if (!ranks_ || ranks_->samples(*model_.plan)) trainer.sampler = [this](int64_t) { return sample(); };
    trainer.token_targets = options_.evaluation.token_targets(model_, *session_, options_.data.packs(model_));
    if (translations_ && (!ranks_ || ranks_->samples(*model_.plan)))
      trainer.more_metrics = [this] { return Metrics{translations_->score()}; };
    trainer.should_stop = [] { return end_signal != 0; };
    if (!options_.detect_anomaly)
      trainer.explain_anomaly = [](auto) {
        return std::string("--detect-anomaly names the first operation");
      };
    if (is_first()) trainer.peak_flops = peak_flops();
    stop_on_signals();
    const TrainingResult result = trainer.run();
    report(result, figures, trainer.peak_flops);
    if (!result.stopped_early || !is_first()) return 0;
    return kSignalStatus + (end_signal != 0 ? end_signal : SIGTERM);  // or another rank had the signal
  }

  /// Returns the peak rate of the machine that trains, in the type that the plan multiplies; 0: not known.
  double peak_flops() const {
    DType dtype = DType::f32;
    for (const PlanEntry& entry : model_.plan->entries)
      for (const Step& step : entry.steps)
        if (const auto* gemm = std::get_if<GemmStep>(&step.what)) dtype = gemm->dtype;
    const double device = session_->executor().matrix_flops_per_second(dtype);
    return on_gpu() ? device : peak_matrix_flops(options_.weights.threads);
  }

  void report(const TrainingResult& result, const Figures& figures, double peak_flops) {
    if (!is_first()) return;
    print_result(result, figures, peak_flops, chosen_);
    if (options_.run_directory.empty()) return;
    const fs::path directory = options_.run_directory;
    if (model_.adapter)
      save_adapter(*model_.adapter, result.checkpoint, directory / "adapter");
    else
      save_model(*session_, model_, directory / "model", result.step, result.checkpoint);
    save_class_names();
    if (graph_files_.valid()) graph_files_.get();
    fmt::print("{}: metrics.jsonl, loss.svg, graph.ir, {}, {}\n", directory.string(),
               model_.adapter ? "adapter" : "model", fs::relative(result.checkpoint, directory).string());
    if (result.stopped_early) note("cut short by a signal: the same command with --resume goes on");
  }

  bool is_first() const { return !ranks_ || ranks_->groups().rank() == 0; }
  bool is_quiet() const { return options_.quiet || !is_first(); }

  void note(const std::string& text) const {
    if (!is_quiet()) fmt::print(stderr, "{}\n", text);
  }

  const TrainCommand& options_;
  TrainRanks* ranks_;
  const ChosenPlan* chosen_;
  Json resolved_;
  CompileOptions compile_options_;
  Model model_;
  std::shared_ptr<const ReadData> read_;  // null: the data are no rows of texts and no images
  std::unique_ptr<Session> session_;
  std::optional<PromptText> texts_;  // where there are samples
  Generator::Tokens sample_prompt_;
  std::optional<TranslationScore> translations_;  // where their score is a metric
  std::future<void> graph_files_;                 // goes first: it looks at the others
};

/// The command as if it had been given what was chosen.
TrainCommand with_choice(TrainCommand options, const ChosenPlan& chosen) {
  chosen.apply(options.flags.values);
  options.trainer.batch = chosen.batch;
  options.trainer.gradient_accumulation = chosen.micro_batches;
  options.pipeline_order = "1f1b";  // or interleaved, where stages have several parts
  return options;
}

void train_as_asked(const TrainCommand& options, const CLI::App& command) {
  int status = 0;
  train_over_ranks(
      options.search, options.flags.values.mesh,
      [&](int device) { return Run(options, command, nullptr).searched(device); },
      [&](TrainRanks* ranks, const ChosenPlan* chosen) {
        status = Run(chosen ? with_choice(options, *chosen) : options, command, ranks, chosen).run();
      });
  if (status != 0) exit_with(status);
}

}  // namespace

void add_train(CLI::App& app) {
  auto options = std::make_shared<TrainCommand>();
  CLI::App* command = app.add_subcommand("train", "Train a model on text, tokens or labelled records");
  command
      ->add_option("model", options->model, "model directory, GGUF file, spec (.json), graph (.ir) or plan")
      ->required();
  command->add_option("--config", options->config,
                      "JSON file with options by name, such as a run's train.json");
  command->add_option("--run-dir", options->run_directory,
                      "directory for metrics, checkpoints and the model");
  add_trainer_options(*command, options->trainer, options->pipeline_order);
  command
      ->add_option("--length", options->length,
                   "tokens a window of text or a packed row; default: the plan's maximum")
      ->check(CLI::PositiveNumber);
  command->add_option("--sample-prompt", options->prompt,
                      "what samples begin with (models with a tokenizer, or of bytes)");
  command->add_option("--sample-tokens", options->sample_tokens, "tokens a sample")->capture_default_str();
  command->add_option("--sample-temperature", options->sample_temperature, "0 = greedy")
      ->capture_default_str();
  command->add_flag("--detect-anomaly", options->detect_anomaly,
                    "check every value; name the first not finite");
  command->add_flag("--quiet", options->quiet, "no progress on stderr");
  options->data.add_to(*command);
  options->evaluation.add_to(*command);
  options->flags.values.training.optimizer.clip_norm = 1;
  using enum OptionGroup;
  options->flags.add_to(*command, {dropout, trained, optimizer, memory, ranks, mesh});
  options->search.add_to(*command);
  options->weights.imported_graph = ImportedGraph::loss;
  options->weights.add_to(*command);
  options->weights.adapter.add_new(*command);
  command->callback([options, command] {
    replace_length_of_run(*command);
    const std::vector<std::string> given = dependent_options(*command);
    if (!options->config.empty()) read_config(*command, options->config);
    check_unused_options(given, options->trainer);
    train_as_asked(*options, *command);
  });
}

}  // namespace smelt::cli
