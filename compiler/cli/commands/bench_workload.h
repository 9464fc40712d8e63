// BenchWorkload: the training step of a model, on random data of the largest sizes that its bounds allow.
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
    int threads = 0;       // 0: all cores
    bool profile = false;  // measures the time of each step
    int accumulate = 1;    // batches per update; if more than 1, the entries `accumulate` and `apply` run
    RankGroups* ranks = nullptr;                       // ranks that train together; null: one rank
    PipelineOrder order = PipelineOrder::one_f_one_b;  // only for plans of pipeline stages
  };
  /// Compiles the model, or reads its plan from the cache, and runs the first update.
  BenchWorkload(const Description& description, const CompileOptions& compile, const Options& options);

  /// Runs one update. If `fetch_loss`, waits for the loss. Throws Error if the last fetched loss is not
  /// finite.
  void step(bool fetch_loss);
  /// Runs `count` updates without fetching the loss, and waits for the last one.
  void steps(int count);
  /// Returns the worker of this rank's stage; null if the plan is not a pipeline's.
  const PipelineWorker* pipeline() const { return pipeline_.get(); }
  /// Sets the number of batches per update. Requires: the plan has pipeline stages, or the number is more
  /// than 1 both before and after the call.
  void set_accumulate(int batches) { accumulate_ = batches; }

  /// Returns the loss of the last update that fetched it.
  float loss() const { return loss_; }
  /// Returns the number of parameters. Copies of parameters in another type, such as bf16, are not counted.
  int64_t parameters() const;
  /// Returns the number of labels in a rank's batch. There is one label per position, or one per record
  /// (sequence) if the model classifies whole records.
  int64_t tokens() const;
  /// Returns the number of floating-point operations in the matmuls of one batch; a multiply-add counts as
  /// two. For a plan with pipeline stages, returns the mean over all ranks.
  double matrix_flops() const { return flops_; }
  const Plan& plan() const { return *plan_; }
  /// Returns the bytes of states on the device and in the host's memory, and the bytes that an update copies
  /// between the two.
  Json states_json() const;
  /// Returns the result of the compilation, without its plan, which plan() returns. It has no program if the
  /// plan came from the cache.
  const Compilation& compilation() const { return compilation_; }
  Executor& executor() { return session_->executor(); }
  /// Returns the seconds from the start of compilation to the end of the first update.
  double seconds_to_first_step() const { return first_step_; }
  /// Returns seconds_to_first_step(), divided into phases. The phase "capture" is added: the capture of a
  /// CUDA graph, which takes place in the second update.
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
  std::unique_ptr<PipelineWorker> pipeline_;  // declared after session_, which it uses
  double flops_ = 0;
  int64_t step_ = 0;
  float loss_ = 0;
  double first_step_ = 0;  // seconds, with compilation
};

/// The numbers of updates and measurements of a benchmark.
struct UpdateClock {
  int together = 1;            // updates per measurement
  int warm_up = 2, steps = 6;  // measurements that are discarded, and those that count
};
/// Runs the measurements. Returns the seconds per update of each one that counts. Then runs one more update
/// to check that the loss is finite.
std::vector<double> timed_updates(BenchWorkload& work, const UpdateClock& clock);

/// Returns the largest resident memory that this process has had, in MiB.
int64_t peak_mib();

}  // namespace smelt::cli
