// The training step of a description on random data of the largest sizes that its bounds allow.
#pragma once

#include <memory>
#include <vector>

#include "compiler/compile.h"
#include "runtime/session.h"

namespace smelt::cli {

class BenchWorkload {
 public:
  struct Options {
    int threads = 0;
    bool profile = false;
    int accumulate = 1;  // batches per update; more than one use the entries accumulate and apply
    bool plan_cache = false;
    RankGroups* ranks = nullptr;  // that train together
  };
  BenchWorkload(const Description& description, const CompileOptions& compile, const Options& options);

  /// Runs one update; fetches and checks the loss where asked to.
  void step(bool fetch_loss);
  /// Runs `count` steps and waits for the last.
  void steps(int count);

  /// Of the last step that fetched it: runs that compute the same give the same bits.
  float loss() const { return loss_; }
  int64_t parameters() const;
  /// The number of targets in a rank's batch: positions, or records of models that classify.
  int64_t tokens() const;
  /// Floating-point operations of the matmuls of a batch; a multiply-add counts as two.
  double matrix_flops() const;
  const Plan& plan() const { return *plan_; }
  /// The compilation without its plan, and without a program where the plan came from the cache.
  const Compilation& compilation() const { return compilation_; }
  Executor& executor() { return session_->executor(); }
  double seconds_to_first_step() const { return first_step_; }
  /// The seconds before the first result by phase; "capture" belongs to the second step.
  SecondsByPart startup() const;

 private:
  void make_inputs();
  void run(const std::string& entry, std::span<const InputTensor> inputs, bool fetch_loss);
  const PlanEntry& entry() const { return session_->entry(accumulate_ > 1 ? "accumulate" : "train_step"); }

  int accumulate_;
  Compilation compilation_;
  std::shared_ptr<const Plan> plan_;
  std::unique_ptr<Session> session_;
  std::vector<HostTensor> data_;
  std::vector<InputTensor> inputs_;
  int64_t step_ = 0;
  float loss_ = 0;
  double first_step_ = 0;  // compilation included
};

}  // namespace smelt::cli
