// The training loop over a plan's entries train_step (or accumulate and apply) and evaluate.
//
// If the plan is for several ranks (Session::ranks), a trainer at each of them runs the same loop. Rank r of
// the N along the axis `data` takes batch micro * N + r of a step, so that N ranks with one micro-step make
// the update of one rank with N. Figures and losses are those of all ranks; the first rank alone writes the
// run directory, and all resume from the checkpoint that it finds there: all ranks must have access to the
// directory. All must begin with the same states, which is checked there and at every checkpoint.
//
// If the plan is that of a pipeline stage (pipeline_stage.h), the stages along the axis `stage` see the same
// batches, and each works on its parts of the model: micro-steps are then the pipeline's micro-batches.
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
#include "runtime/engine/training/checkpoint.h"
#include "runtime/engine/training/evaluation.h"
#include "runtime/engine/training/learning_rate.h"
#include "runtime/engine/training/metrics.h"
#include "runtime/engine/training/pipeline_worker.h"
#include "runtime/engine/training/training_ranks.h"
#include "runtime/session/session.h"
#include "runtime/system/process_lock.h"

namespace smelt {

struct TrainerOptions {
  std::filesystem::path run_directory;  // empty: nothing is written
  int64_t steps = 1000;
  int64_t batch = 8;                       // windows, records or packed rows a micro-step of a rank
  int64_t length = 128;                    // tokens a window or a packed row; of no concern to records
  bool pack = false;                       // rows hold concatenated documents (data/packed_data.h)
  std::vector<int32_t> document_end = {};  // of packed tokens: ids in a row at which a document ends
  double learning_rate = 1e-3;
  double min_learning_rate = 0;
  ScheduleKind schedule = ScheduleKind::cosine;
  int64_t warmup_steps = 0;
  int64_t gradient_accumulation = 1;  // micro-steps an update: of a pipeline its micro-batches
  /// Order in which the stages of a pipeline work on them.
  PipelineOrder pipeline_order = PipelineOrder::one_f_one_b;
  int64_t data_ranks = 1;  // that see different batches; set by the trainer
  /// A description of the data with checksums, and where in it the run went on with another batch
  /// (StreamPlace); set by the trainer.
  std::string data = {};
  int64_t data_step = 0, data_epoch = 0, data_record = 0;
  int64_t eval_every = 0;  // 0: never; also before the first and after the last step
  int64_t eval_batches = 8;
  int64_t sample_every = 0;      // 0: never
  int64_t checkpoint_every = 0;  // 0: only at the end
  int64_t keep_checkpoints = 3;  // 0: all
  int64_t seed = 0;              // of the batches and of dropout
  bool resume = false;
  bool overfit_one_batch = false;  // every step sees the same batch: the loss must go to nearly zero

  LearningRate rate() const;
  /// Throws one Error that names all that is wrong.
  void validate() const;
};

/// The entry whose inputs are those of a batch of training: "train_step", "accumulate" or, of a pipeline,
/// "batch".
std::string fed_entry(const Plan& plan, const TrainerOptions& options);

/// {"steps": 1000, ...}, indented.
std::string to_json(const TrainerOptions& options);
/// Overwrites the fields that the JSON object names; unknown names and wrong types are named in one Error.
void read_json(std::string_view text, TrainerOptions& options);

struct TrainingResult {
  int64_t step = 0;  // updates done, earlier runs included
  double loss = 0;   // of the last step
  std::optional<double> held_back_loss;
  std::optional<double> accuracy;    // on held-back data, of models that classify
  std::filesystem::path checkpoint;  // the last one, if any
  bool stopped_early = false;
};

/// The training loop. The run directory holds options.json (the options), metrics.jsonl, loss.svg,
/// checkpoints/step-N.safetensors, and run.lock, which the trainer's process keeps locked while the trainer
/// exists, so that two processes never write to one directory.
class Trainer {
 public:
  /// The session needs weights (loaded or initialised), unless it is going to resume. Checks options, plan
  /// and data. Throws Error naming the process if another trains in the run directory.
  Trainer(Session& session, TrainerOptions options, DataSplit data);

  /// Gets the events of the run, in order of addition; must outlive it.
  void add_observer(TrainerObserver& observer) { observers_.push_back(&observer); }
  /// Makes the text that observers get every sample_every steps.
  std::function<std::string(int64_t step)> sampler;
  /// Called after each step; true at any rank ends the run with a checkpoint (an interrupt key, a time
  /// limit).
  std::function<bool()> should_stop;
  /// Floating-point operations per second that this machine reaches in large GEMMs, of which mfu is a
  /// fraction. 0: unknown, and no mfu is reported.
  double peak_flops = 0;
  /// Called with the inputs of a step whose loss or gradient is not finite; its answer ends the error
  /// message.
  std::function<std::string(std::span<const InputTensor> inputs)> explain_anomaly;

  /// Returns the amount of data, in rows if it is packed, and a checksum of the first batch, which must be
  /// equal at all ranks that train one model.
  std::string describe_data() const;
  /// Resumes the run in the directory where the option `resume` is set; returns the number of updates done.
  /// Nothing is written: a checkpoint that does not fit is an Error, and the files stay. run() calls this if
  /// the caller has not.
  int64_t restore();
  /// Throws Error (numeric) naming the step when a loss or gradient norm is not finite (except for an
  /// overflow that the plan answers with a smaller loss scale), or when a check of the session found such a
  /// value; the last checkpoint stays.
  TrainingResult run();
  /// The mean loss over the held-back data.
  EvaluationRecord evaluate(int64_t step);

  /// Report of one update. A plan need not compute the norm.
  struct Update {
    double loss;
    std::optional<double> gradient_norm;
    std::optional<double> loss_scale = {}, skipped_steps = {};
    /// Returns whether the plan skipped the update and will try a smaller loss scale.
    bool skipped() const;
  };

 private:
  TrainingResult run_steps();
  std::optional<CheckpointInfo> restore_at_all_ranks();
  /// Returns a fingerprint of the data, which a resumed run compares.
  std::string fingerprint() const;
  /// The next unseen record, where the run before had other batches.
  void go_on_in_data(const TrainerOptions& before, int64_t step);
  void tell_changes(const TrainerOptions& before, int64_t step) const;
  void begin();
  void train(int64_t step);
  Update update(int64_t step);
  void count_flops(const PlanEntry& entry, const SymbolValues& sizes);
  void make_pipeline();
  BatchShare share_of_evaluation() const;
  BatchOptions batch_options() const;
  void pack_data();
  void tell_packing() const;
  std::string last_good() const;
  std::vector<HostTensor> micro_step(std::string_view entry, int64_t step, int64_t index);
  EvaluationSums evaluate_at_all_ranks();
  void check_finite(int64_t step, const Update& done);
  void after_step(int64_t step);
  void record_evaluation(int64_t step);
  void sample(int64_t step);
  void save(int64_t step);
  void share_choices();
  void draw_curve() const;
  void tell(const std::function<void(TrainerObserver&)>& what) const;

  Session& session_;
  TrainingRanks ranks_;
  TrainerOptions options_;
  LearningRate schedule_;
  DataSplit data_;
  std::unique_ptr<BatchStream> stream_;
  std::unique_ptr<BatchList> held_back_;
  std::shared_ptr<const ProcessLock> lock_;  // of the run directory, up to the end of the trainer
  std::optional<CheckpointDirectory> checkpoints_;
  std::vector<TrainerObserver*> observers_;
  Batch batch_;
  std::optional<PipelineWorker> pipeline_;
  struct EntryFlops {
    SymbolValues sizes;  // of its last run
    double flops = 0;    // of its GEMMs
  };
  std::map<const PlanEntry*, EntryFlops> entry_flops_;
  double flops_ = 0;                        // of those of an update so far
  int64_t update_tokens_ = 0, tokens_ = 0;  // of an update so far; of all updates
  LossHistory history_;
  TrainingResult result_;
  bool restored_ = false;
};

}  // namespace smelt
