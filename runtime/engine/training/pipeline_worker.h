// Execution of one pipeline stage. A worker runs the stage's steps of a schedule, and exchanges values and
// gradients with the stages before and after it. The model is divided into consecutive parts, and a stage has
// one or more of them. The data of micro-batches in progress are stored in the executor's memory.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "runtime/engine/training/pipeline_schedule.h"
#include "runtime/engine/training/pipeline_stage.h"
#include "runtime/engine/training/port_rings.h"
#include "runtime/engine/training/stage_messages.h"
#include "runtime/session/batch.h"
#include "runtime/session/session.h"

namespace smelt {

class PipelineWorker {
 public:
  /// Callbacks of a worker. `fill` fills the batch of a micro-batch. `before` is called before each run of an
  /// entry, for example to select the random numbers of that run; `sizes` are the values of the symbols.
  struct Host {
    std::function<void(int64_t micro_batch, Batch& batch)> fill;
    std::function<void(int64_t micro_batch, const PlanEntry& entry, const SymbolValues& sizes)> before;
  };

  /// Requires: all ranks create their workers together, and `session` outlives the worker. Throws Error if
  /// the session's plan is not that of a pipeline stage, if this rank belongs to another stage than the
  /// plan, or if a stage reads a tensor that the stage before or after it does not make.
  PipelineWorker(Session& session, PipelineOrder order, Host host);

  const PipelineStage& stage() const { return stage_; }
  PipelineOrder order() const { return order_; }

  /// Runs forward and backward of all micro-batches, and then sums the gradients of parameters that several
  /// stages hold. The caller runs the entry apply afterwards. On a GPU the call returns while the work is in
  /// progress.
  void accumulate(int64_t micro_batches);
  /// Runs the evaluate entries on a batch. At the last stage, returns the outputs of the model's last part;
  /// at the other stages, returns an empty list. All stages call it together.
  std::vector<HostTensor> evaluate(const Batch& batch);

 private:
  /// A micro-batch in progress.
  struct MicroBatch {
    Batch batch;
    SymbolValues sizes;
    int64_t backwards = 0;  // number of the model's parts at this stage whose backward is done
  };

  void prepare(int64_t micro_batches);
  void prepare_evaluation();
  /// Carries out one step of the schedule: work of this stage or a message.
  void follow(const PipelineStep& step);
  void run(const PipelineStep& step, std::string_view what);
  void exchange(const PipelineStep& step);
  void exchange(const PortRings& rings, const PipelineStep& step, StageMessage what,
                const SymbolValues& sizes);
  std::vector<HostTensor> run_entry(const PlanEntry& entry, const PortRings& rings, int64_t micro_batch,
                                    const MicroBatch& data);
  MicroBatch& micro_batch(int64_t number);
  SymbolValues sizes_of(const Batch& batch) const;
  /// Returns the segments of the gradients of parameters that several stages hold (Segment::stages).
  std::vector<const Segment*> copies() const;
  /// Returns the messages and sums between the stages, for the executor's StageMemory.
  StageExchange exchange_plan() const;
  /// Sums the gradients of copies() over the stages that hold them.
  void add_up_copies();

  Session& session_;
  PipelineOrder order_;
  Host host_;
  PipelineStage stage_;
  StageMessages messages_;
  std::unique_ptr<StageMemory> memory_;
  PipelineSchedule schedule_;                       // for the micro-batches of the last call of accumulate
  std::map<int64_t, PortRings> rings_, evaluated_;  // by part, for training and for evaluation
  std::map<int64_t, MicroBatch> micro_batches_;
};

}  // namespace smelt
