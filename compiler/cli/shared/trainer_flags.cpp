#include "compiler/cli/shared/trainer_flags.h"

namespace smelt::cli {

void add_trainer_options(CLI::App& command, TrainerOptions& t, std::string& pipeline_order) {
  const auto count = [&](const char* name, int64_t& value, const char* help) {
    command.add_option(name, value, help)->check(CLI::NonNegativeNumber)->capture_default_str();
  };
  count("--steps", t.steps, "updates");
  count("--batch", t.batch, "windows, records or packed rows a micro-step");
  command.add_option("--lr,--learning-rate", t.learning_rate, "peak learning rate")->capture_default_str();
  command.add_option("--min-lr", t.min_learning_rate, "learning rate at the end")->capture_default_str();
  count("--warmup", t.warmup_steps, "steps in which the learning rate rises");
  count("--accumulate", t.gradient_accumulation, "micro-steps an update: of a pipeline its micro-batches");
  count("--eval-every", t.eval_every, "steps between evaluations on held-back data; 0: never");
  count("--eval-batches", t.eval_batches, "batches an evaluation");
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
