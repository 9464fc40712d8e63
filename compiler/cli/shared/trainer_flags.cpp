#include "compiler/cli/shared/trainer_flags.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/error.h"

namespace smelt::cli {
namespace {

void add_step_count(CLI::App& command, const char* name, StepCount& value, const char* help) {
  const auto read = [&value, option = std::string(name)](const std::string& text) {
    const auto count = parse_step_count(text);
    if (!count)
      throw CLI::ValidationError(
          option, fmt::format("{}: expected a number of steps, or a share of them such as 10%", text));
    value = *count;
  };
  command.add_option_function<std::string>(name, read, help)->default_str(to_text(value));
}

void add_schedule(CLI::App& command, TrainerOptions& t) {
  const auto read = [&t](const std::string& text) {
    const auto kind = parse_schedule(text);
    if (!kind)
      throw CLI::ValidationError("--schedule", fmt::format("{}: expected one of {}", text, schedule_names()));
    t.schedule = *kind;
  };
  command
      .add_option_function<std::string>("--schedule", read,
                                        fmt::format("of the learning rate: {}", schedule_names()))
      ->default_str(std::string(name(t.schedule)));
  command.add_option("--schedule-power", t.schedule_power, "of polynomial")->capture_default_str();
  command.add_option("--schedule-cycles", t.schedule_cycles, "of cosine-with-restarts")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  add_step_count(command, "--schedule-decay", t.schedule_decay,
                 "of warmup-stable-decay: last steps in which the rate falls, or their share");
}

void add_spikes(CLI::App& command, TrainerOptions& t) {
  command
      .add_option_function<std::string>(
          "--on-spike", [&t](const std::string& text) { t.on_spike = *parse_spike_action(text); },
          "at a loss or gradient norm far above its running mean: ignore it, stop the run, or (at a norm) "
          "skip "
          "the update")
      ->check(CLI::IsMember({"ignore", "stop", "skip"}))
      ->default_str(std::string(name(t.on_spike)));
  command
      .add_option("--spike-factor", t.spike_factor, "times the running mean above which a value is a spike")
      ->capture_default_str();
}

/// Sets an option of the command line to its value for none.
void reset(CLI::App& command, const char* name, const char* value) {
  CLI::Option* option = command.get_option(name);
  option->add_result(value);
  option->run_callback();
}

/// An option that another one makes useful.
struct Dependent {
  const char *option, *needed;
  bool (*is_used)(const TrainerOptions&);
};

template <ScheduleKind kind>
bool has_schedule(const TrainerOptions& t) {
  return t.schedule == kind;
}
bool evaluates(const TrainerOptions& t) { return t.eval_every > 0; }
bool samples(const TrainerOptions& t) { return t.sample_every > 0; }

constexpr Dependent kDependents[] = {
    {"--schedule-power", "--schedule polynomial", has_schedule<ScheduleKind::polynomial>},
    {"--schedule-cycles", "--schedule cosine-with-restarts",
     has_schedule<ScheduleKind::cosine_with_restarts>},
    {"--schedule-decay", "--schedule warmup-stable-decay", has_schedule<ScheduleKind::warmup_stable_decay>},
    {"--min-lr", "a --schedule other than constant",
     [](const TrainerOptions& t) { return t.schedule != ScheduleKind::constant; }},
    {"--spike-factor", "--on-spike stop or skip",
     [](const TrainerOptions& t) { return t.on_spike != SpikeAction::ignore; }},
    {"--metric", "--eval-every above 0", evaluates},
    {"--early-stopping", "--eval-every above 0", evaluates},
    {"--token-accuracy", "--eval-every above 0", evaluates},
    {"--translations", "--eval-every above 0", evaluates},
    {"--sample-prompt", "--sample-every above 0", samples},
    {"--sample-tokens", "--sample-every above 0", samples},
    {"--sample-temperature", "--sample-every above 0", samples},
};

}  // namespace

std::vector<std::string> dependent_options(const CLI::App& command) {
  std::vector<std::string> given;
  for (const Dependent& row : kDependents) {
    const CLI::Option& option = *command.get_option(row.option);
    const auto is_off = [](const std::string& text) {
      return text == "0" || text == "false" || text.empty();
    };
    if (option.count() > 0 && !std::ranges::all_of(option.results(), is_off)) given.emplace_back(row.option);
  }
  return given;
}

void check_unused_options(const std::vector<std::string>& given, const TrainerOptions& t) {
  for (const Dependent& row : kDependents)
    if (std::ranges::find(given, row.option) != given.end() && !row.is_used(t))
      fail("{} has no effect: it is for {}", row.option, row.needed);
}

void replace_length_of_run(CLI::App& command) {
  if (command.count("--steps") > 0) reset(command, "--epochs", "0");
}

void add_trainer_options(CLI::App& command, TrainerOptions& t, std::string& pipeline_order) {
  const auto count = [&](const char* name, int64_t& value, const char* help) {
    command.add_option(name, value, help)->check(CLI::NonNegativeNumber)->capture_default_str();
  };
  const auto step_count = [&](const char* name, StepCount& value, const char* help) {
    add_step_count(command, name, value, help);
  };
  count("--steps", t.steps, "updates");
  command.add_option("--epochs", t.epochs, "times that the data are read, in place of --steps")
      ->check(CLI::NonNegativeNumber)
      ->excludes("--steps");
  count("--batch", t.batch, "windows, records or packed rows a micro-step");
  command.add_option("--lr,--learning-rate", t.learning_rate, "peak learning rate")->capture_default_str();
  command.add_option("--min-lr", t.min_learning_rate, "learning rate at the end")->capture_default_str();
  step_count("--warmup", t.warmup_steps, "steps in which the learning rate rises, or a share such as 10%");
  add_schedule(command, t);
  count("--accumulate", t.gradient_accumulation, "micro-steps an update: of a pipeline its micro-batches");
  count("--eval-every", t.eval_every, "steps between evaluations on held-back data; 0: never");
  count("--eval-batches", t.eval_batches, "batches an evaluation");
  command.add_option(
      "--metric", t.metric,
      "metric of the best evaluation, whose checkpoint is kept in best/: loss, or accuracy, f1, "
      "perplexity where the model has them");
  count("--early-stopping", t.early_stopping,
        "evaluations without a better metric that end the run; 0: never");
  add_spikes(command, t);
  count("--sample-every", t.sample_every, "steps between samples; 0: never");
  count("--checkpoint-every", t.checkpoint_every, "steps between checkpoints; 0: only at the end");
  count("--keep", t.keep_checkpoints, "newest checkpoints that stay; 0: all");
  command.add_flag("--resume", t.resume, "go on from the newest whole checkpoint of --run-dir");
  command.add_flag("--overfit-one-batch", t.overfit_one_batch, "every step sees the same batch");
  command
      .add_option("--pipeline-order", pipeline_order,
                  "in which order the stages of --mesh stage=N work on micro-batches; with several "
                  "--pipeline-parts, 1f1b is interleaved")
      ->check(CLI::IsMember({"1f1b", "gpipe", "interleaved"}))
      ->capture_default_str();
}

}  // namespace smelt::cli
