// The training loop over a plan's entries train_step (or accumulate and apply) and evaluate.
//
// If the plan is for several ranks (Session::ranks), a trainer at each rank runs the same loop. A step is one
// update of the parameters. It has one or more micro-steps, whose gradients are added, and each micro-step
// reads one batch per rank. With N ranks along the mesh axis `data`, rank r reads batch m * N + r in
// micro-step m. So N ranks with one micro-step make the same update as one rank with N micro-steps. Losses
// and other figures are those of all ranks. The first rank writes the run directory; each rank writes the
// checkpoint files of its parts of sharded states. All ranks resume from the checkpoint that the first rank
// finds, so all must have access to the directory. All ranks must begin with the same states. The trainer
// checks at the start of a run and at every checkpoint that the states are the same.
//
// If the plan is that of a pipeline stage (pipeline_stage.h), the stages along the mesh axis `stage` read the
// same batches, and each stage computes its parts of the model. Micro-steps are then the micro-batches of the
// pipeline.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/engine/data/batches.h"
#include "runtime/engine/training/best_evaluation.h"
#include "runtime/engine/training/checkpoint.h"
#include "runtime/engine/training/evaluation.h"
#include "runtime/engine/training/learning_rate.h"
#include "runtime/engine/training/metrics.h"
#include "runtime/engine/training/pipeline_worker.h"
#include "runtime/engine/training/spikes.h"
#include "runtime/engine/training/step_count.h"
#include "runtime/engine/training/training_ranks.h"
#include "runtime/session/session.h"
#include "runtime/system/process_lock.h"

namespace smelt {

/// Options of a training run, which are also stored in the run directory and in checkpoints.
struct TrainerOptions {
  std::filesystem::path run_directory;  // empty: nothing is written
  int64_t steps = 1000;
  /// Times that the data are read. If it is above 0, the trainer sets `steps` to the number of updates that
  /// this takes (steps_of_epochs in data/batches.h).
  double epochs = 0;
  int64_t batch = 8;     // per micro-step and rank: windows of a token stream, records or packed rows
  int64_t length = 128;  // tokens per window or packed row; unused for records
  bool pack = false;     // rows hold concatenated documents (data/packed_data.h)
  std::vector<int32_t> document_end = {};  // for packed tokens: the sequence of ids that ends a document
  double learning_rate = 1e-3;
  double min_learning_rate = 0;
  ScheduleKind schedule = ScheduleKind::cosine;
  double schedule_power = 1;                       // of the schedule polynomial
  int64_t schedule_cycles = 1;                     // of the schedule cosine-with-restarts
  StepCount schedule_decay = share_of_steps(0.1);  // of the schedule warmup-stable-decay: its last steps
  StepCount warmup_steps = 0;
  int64_t gradient_accumulation = 1;  // micro-steps per update, or micro-batches per update of a pipeline
  /// Order in which the stages of a pipeline work on the micro-batches.
  PipelineOrder pipeline_order = PipelineOrder::one_f_one_b;
  int64_t data_ranks = 1;  // number of ranks that read different batches; set by the trainer
  /// Description of the data with checksums. Set by the trainer.
  std::string data = {};
  /// Position in the data (StreamPlace) at which the last change of the batch size occurred. Set by the
  /// trainer.
  int64_t data_step = 0, data_epoch = 0, data_record = 0;
  /// Steps between evaluations; 0: no evaluations. If it is above 0, the model is also evaluated before the
  /// first step of a new run and at the end of every run.
  int64_t eval_every = 0;
  int64_t eval_batches = 8;  // batches per evaluation, at most
  /// Metric of the best evaluation: "loss" or the name of a Metric. Empty: "loss", and the best checkpoint is
  /// kept only with early_stopping.
  std::string metric = {};
  /// Successive evaluations without a better value of the metric that end the run; 0: the run is not ended.
  int64_t early_stopping = 0;
  SpikeAction on_spike = SpikeAction::ignore;
  double spike_factor = 3;         // of SpikeDetector
  int64_t sample_every = 0;        // steps between sample texts, with one more after the last step; 0: never
  int64_t checkpoint_every = 0;    // steps between checkpoints, with one more at the end; 0: only at the end
  int64_t keep_checkpoints = 3;    // number of newest checkpoints that are kept; 0: all
  int64_t seed = 0;                // of the batches and of dropout
  bool resume = false;             // resume from the newest checkpoint in the run directory, if it has one
  bool overfit_one_batch = false;  // every step reads the same batch: the loss must go to nearly zero

  LearningRate rate() const;
  /// Returns whether the run keeps the checkpoint of its best evaluation.
  bool keeps_best() const { return early_stopping > 0 || !metric.empty(); }
  /// Throws one Error that names all invalid options.
  void validate() const;
};

/// Returns the name of the entry that has the inputs of a training batch: "train_step", "accumulate" or, in a
/// pipeline, "batch".
std::string fed_entry(const Plan& plan, const TrainerOptions& options);

/// Returns {"steps": 1000, ...}, indented.
std::string to_json(const TrainerOptions& options);
/// Overwrites the fields that the JSON object names; unknown names and wrong types are named in one Error.
void read_json(std::string_view text, TrainerOptions& options);

struct TrainingResult {
  int64_t step = 0;                      // number of updates, including those of the runs that it continues
  double loss = 0;                       // of the last step
  std::optional<double> held_back_loss;  // of the last evaluation; nothing if there was none
  Metrics metrics;                       // of the last evaluation
  std::filesystem::path checkpoint;      // the last one; empty if there is none
  std::filesystem::path best;            // checkpoint of the best evaluation; empty if none is kept
  bool stopped_early = false;            // Trainer::should_stop ended the run
  bool without_improvement = false;      // TrainerOptions::early_stopping ended the run
};

/// The training loop. The run directory holds options.json (the options), metrics.jsonl, events/, loss.svg,
/// checkpoints/step-N.safetensors, best/step-N.safetensors and run.lock. The trainer keeps run.lock locked
/// while it exists, so two processes never write to one directory.
class Trainer {
 public:
  /// Checks options, plan and data. Requires: the session has weights (loaded or initialized) or will resume,
  /// and outlives the trainer. Throws Error if a check fails, or if another process trains in the run
  /// directory (the message names that process).
  Trainer(Session& session, TrainerOptions options, DataSplit data);

  /// Adds an observer of the events of the run. Observers are called in the order in which they were added.
  /// Requires: `observer` outlives the trainer.
  void add_observer(TrainerObserver& observer) { observers_.push_back(&observer); }
  /// Returns a sample text for the observers. Called every sample_every steps; null: no samples.
  std::function<std::string(int64_t step)> sampler;
  /// The labels that the logits are about, for the metric token_accuracy; nothing: it is not computed.
  /// Requires: require_token_logits() does not throw for the session.
  std::optional<TokenTargets> token_targets;
  /// Returns further metrics of the model, which are added to each evaluation. May be null.
  std::function<Metrics()> more_metrics;
  /// Called after each step but the last. If it returns true at any rank, the run ends with a checkpoint, for
  /// example after an interrupt key or at a time limit. May be null.
  std::function<bool()> should_stop;
  /// Floating-point operations per second that one rank reaches in large GEMMs. The reported mfu (model FLOP
  /// utilization) is a fraction of it. 0: unknown, and no mfu is reported.
  double peak_flops = 0;
  /// Called with the inputs of the last batch of a step whose loss or gradient norm is not finite. The
  /// returned text is appended to the error message. May be null.
  std::function<std::string(std::span<const InputTensor> inputs)> explain_anomaly;

  /// Returns a text with the amount of data, in rows if it is packed, and a checksum of the first batch. The
  /// texts of all ranks that train one model must be equal.
  std::string describe_data() const;
  /// Restores the newest checkpoint in the run directory if the option `resume` is set and there is one.
  /// Returns the number of updates that have been done, 0 for a new run. Writes no files. Throws Error if the
  /// checkpoint does not fit the plan. run() calls this function if the caller has not.
  int64_t restore();
  /// Runs the updates up to TrainerOptions::steps, with evaluations, samples and checkpoints. Throws Error
  /// (numeric) naming the step if a loss is not finite. Throws it also if the gradient norm is not finite,
  /// unless the plan skips the update and retries with a smaller loss scale. An Error of a run, such as from
  /// a callback of the session, also ends the training. The last checkpoint is kept.
  TrainingResult run();
  /// Computes the mean loss over the held-back data. `step` is the step number in the record.
  EvaluationRecord evaluate(int64_t step);

  /// Results of one update. An optional field is empty if the plan does not compute it.
  struct Update {
    double loss;
    std::optional<double> gradient_norm;
    std::optional<double> loss_scale = {}, skipped_steps = {};
    /// Returns whether the plan skipped the update and will try a smaller loss scale.
    bool skipped() const;
  };

 private:
  TrainingResult run_steps();
  /// Sets the first bounds of activations by the first batch, if the plan learns such.
  void calibrate();
  std::optional<CheckpointInfo> restore_at_all_ranks();
  /// Returns a fingerprint of the data, which a resumed run compares.
  std::string fingerprint() const;
  /// Continues the stream where the previous run ended. If the batch size has changed, it continues with the
  /// first record that the previous run did not read in its epoch.
  void go_on_in_data(const TrainerOptions& before, int64_t step);
  /// Reports options and data that differ from those of the run that is resumed.
  void tell_changes(const TrainerOptions& before, int64_t step) const;
  void begin();
  /// Restores the metrics and the best evaluation as they were at the step that the run resumes from.
  void restore_files();
  /// Returns false for the gradient norm of an update that was skipped.
  bool is_no_spike(std::optional<double> norm) const;
  /// Returns whether the last evaluations, as many as the option early_stopping, were no better than one
  /// before them.
  bool is_without_improvement() const;
  void train(int64_t step);
  Update update(int64_t step);
  void count_flops(const PlanEntry& entry, const SymbolValues& sizes);
  void make_pipeline();
  BatchShare share_of_evaluation() const;
  BatchOptions batch_options() const;
  void pack_data();
  /// Reports how the documents were packed into rows.
  void tell_packing() const;
  /// Returns the end of an error message: the path of the last checkpoint, or that there is none.
  std::string last_good() const;
  std::vector<HostTensor> micro_step(std::string_view entry, int64_t step, int64_t index);
  EvaluationSums evaluate_at_all_ranks();
  /// Returns the sums over all ranks.
  EvaluationSums added_up(EvaluationSums own) const;
  void check_finite(int64_t step, const Update& done);
  void check_spike(int64_t step, const Update& done);
  /// Tells the plan the largest norm of an update that is made, if spikes are skipped.
  void limit_norm();
  /// Returns whether the plan has skipped the update because of limit_norm(), and reports it. Throws Error if
  /// kMostSkipped successive updates were skipped.
  bool skips_spike(int64_t step, const Update& done);
  /// Throws Error (numeric) with the problem of a step, the last good checkpoint, and advice.
  [[noreturn]] void stop_at(int64_t step, const std::string& problem) const;
  void after_step(int64_t step);
  void record_evaluation(int64_t step);
  /// Returns whether the evaluation of the step is compared with the best one. The one of a run that is
  /// interrupted is not, because the uninterrupted run does not have it.
  bool is_compared(int64_t step) const;
  /// Compares the evaluation with the best one. If it is better, writes the best checkpoint; if too many have
  /// not been, ends the run.
  void compare_with_best(const EvaluationRecord& record);
  void report_no_improvement(int64_t step) const;
  /// Repeats the comparisons of a resumed run, and removes best checkpoints of later steps.
  void restore_best();
  void sample(int64_t step);
  void save(int64_t step);
  /// Writes a checkpoint to a folder of the run directory, and returns its path. `directory` is that folder
  /// at the first rank, and empty at the others.
  std::filesystem::path save_in(const char* folder, std::optional<CheckpointDirectory>& directory,
                                int64_t step);
  /// Sets the steps of a run of TrainerOptions::epochs, and the learning rates.
  void set_steps();
  /// Sets the measured choices (Executor::choices) of all ranks to those of the first rank, except in a
  /// pipeline, where ranks have different plans.
  void share_choices();
  void draw_curve() const;
  /// Calls `what` for each observer.
  void tell(const std::function<void(TrainerObserver&)>& what) const;

  Session& session_;
  TrainingRanks ranks_;
  TrainerOptions options_;
  LearningRate schedule_;
  DataSplit data_;
  std::unique_ptr<BatchStream> stream_;
  std::unique_ptr<BatchList> held_back_;
  std::shared_ptr<const ProcessLock> lock_;  // of the run directory, held as long as the trainer exists
  std::optional<CheckpointDirectory> checkpoints_, best_checkpoints_;
  BestEvaluation best_;
  SpikeDetector spikes_;
  int64_t skipped_in_succession_ = 0;
  std::vector<TrainerObserver*> observers_;
  Batch batch_;
  std::optional<PipelineWorker> pipeline_;
  struct EntryFlops {
    SymbolValues sizes;  // of the last run of the entry
    double flops = 0;    // of the entry's GEMMs at these sizes
  };
  std::map<const PlanEntry*, EntryFlops> entry_flops_;
  double flops_ = 0;  // of the GEMMs of the current update so far, at this rank
  /// Tokens of the current update so far, at this rank, and tokens of all updates, at all ranks.
  int64_t update_tokens_ = 0, tokens_ = 0;
  LossHistory history_;
  TrainingResult result_;
  bool restored_ = false;
};

}  // namespace smelt
