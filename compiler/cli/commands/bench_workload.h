// The training step of a description on random data of the largest sizes that its bounds allow.
#pragma once

#include <memory>
#include <vector>

#include "compiler/driver/compile.h"
#include "runtime/engine/training/pipeline_worker.h"
#include "runtime/session/session.h"

namespace smelt::cli {

class BenchWorkload {
 public:
  struct Options {
    int threads = 0;
    bool profile = false;
    int accumulate = 1;           // batches per update; more than one use the entries accumulate and apply
    RankGroups* ranks = nullptr;  // that train together
    PipelineOrder order = PipelineOrder::one_f_one_b;  // of the plan of a stage of a pipeline
  };
  BenchWorkload(const Description& description, const CompileOptions& compile, const Options& options);

  /// Runs one update; fetches and checks the loss if `fetch_loss`.
  void step(bool fetch_loss);
  /// Runs `count` steps and waits for the last.
  void steps(int count);
  /// Returns null where the plan is not of a pipeline.
  const PipelineWorker* pipeline() const { return pipeline_.get(); }
  /// The batches of an update from now on, where there is more than one, or a pipeline.
  void set_accumulate(int batches) { accumulate_ = batches; }

  /// Returns the loss of the last step that fetched it. Runs of the same computation give the same bits.
  float loss() const { return loss_; }
  int64_t parameters() const;
  /// The number of targets in a rank's batch: positions, or records of models that classify.
  int64_t tokens() const;
  /// Returns the floating-point operations of the matmuls of a batch; a multiply-add counts as two. For a
  /// pipeline, the mean of all ranks.
  double matrix_flops() const { return flops_; }
  const Plan& plan() const { return *plan_; }
  /// Bytes of states on the device and in the host's memory, and what an update copies between the two.
  Json states_json() const;
  /// The compilation without its plan, and without a program where the plan came from the cache.
  const Compilation& compilation() const { return compilation_; }
  Executor& executor() { return session_->executor(); }
  double seconds_to_first_step() const { return first_step_; }
  /// Returns the seconds before the first result by phase; "capture" is a part of the second step.
  SecondsByPart startup() const;

 private:
  void make_inputs();
  void run(const std::string& entry, std::span<const InputTensor> inputs, bool fetch_loss);
  void make_pipeline(PipelineOrder order);
  const PlanEntry& entry() const;
  double own_flops() const;

  int accumulate_;
  Compilation compilation_;
  std::shared_ptr<const Plan> plan_;
  std::unique_ptr<Session> session_;
  std::vector<HostTensor> data_;
  std::vector<InputTensor> inputs_;
  std::unique_ptr<PipelineWorker> pipeline_;  // behind the session, which it uses
  double flops_ = 0;
  int64_t step_ = 0;
  float loss_ = 0;
  double first_step_ = 0;  // compilation included
};

struct UpdateClock {
  int together = 1;  // updates between two looks at the clock
  int warm_up = 2, steps = 6;
};
/// Seconds of single updates; checks that what was timed gives a finite loss.
std::vector<double> timed_updates(BenchWorkload& work, const UpdateClock& clock);

/// The most memory that this process has had.
int64_t peak_mib();

}  // namespace smelt::cli
