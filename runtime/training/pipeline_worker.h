// The work of one stage of a pipeline: it follows the schedule of an update, and exchanges values and
// gradients with the stages next to it.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <utility>

#include "runtime/batch.h"
#include "runtime/session.h"
#include "runtime/training/pipeline_schedule.h"
#include "runtime/training/pipeline_stage.h"

namespace smelt {

class PipelineWorker {
 public:
  /// What a worker asks of its caller: the batch of a micro-step, and what is due before an entry runs, such
  /// as the number of its random draws.
  struct Host {
    std::function<void(int64_t micro_batch, Batch& batch)> fill;
    std::function<void(int64_t micro_batch, const PlanEntry& entry, std::span<const InputTensor> inputs)>
        before;
  };

  /// The session's plan is that of a stage, and its ranks are there. Throws Error where the rank is another
  /// stage's. `session` outlives it.
  PipelineWorker(Session& session, PipelineOrder order, Host host);

  const PipelineStage& stage() const { return stage_; }

  /// Forward and backward of all micro-batches; then gradients of parameters that several stages hold are
  /// added up. What is left to do is the entry apply.
  void accumulate(int64_t micro_batches);
  /// The outputs of the entry evaluate of a batch, at the last stage; nothing at the others.
  std::vector<HostTensor> evaluate(const Batch& batch);

 private:
  using Kept = std::map<std::string, HostTensor, std::less<>>;
  using PartOfBatch = std::pair<int64_t, int64_t>;  // part, micro-batch

  void follow(const PipelineStep& step);
  void run(const PipelineStep& step, std::string_view what);
  std::vector<HostTensor> run_entry(const PlanEntry& entry, const Batch& batch, const Kept& kept,
                                    int64_t micro_batch);
  void send(const PipelineStep& step);
  void receive(const PipelineStep& step);
  void forget_unneeded(int64_t part, Kept& kept) const;
  const Batch& batch_of(int64_t micro_batch);
  Communicator& group();
  void add_up_copies();
  void add_up(const Segment& segment);

  Session& session_;
  PipelineOrder order_;
  Host host_;
  PipelineStage stage_;
  std::map<PartOfBatch, Kept> kept_;
  std::map<int64_t, Batch> batches_;      // of micro-batches that are under way
  std::map<int64_t, int64_t> backwards_;  // of each of them, how many of this stage are done
};

}  // namespace smelt
