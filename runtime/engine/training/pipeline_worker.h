// The work of one pipeline stage: it follows the schedule of an update, and exchanges values and gradients
// with the stages next to it. Its data of micro-batches are stored in its executor's memory.
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
  /// Callbacks of a worker: the batch of a micro-step, and the work that is due before an entry runs, such as
  /// setting the number of its random draws.
  struct Host {
    std::function<void(int64_t micro_batch, Batch& batch)> fill;
    std::function<void(int64_t micro_batch, const PlanEntry& entry, const SymbolValues& sizes)> before;
  };

  /// Requires: the session's plan is that of a stage, all ranks create their workers together, and `session`
  /// outlives the worker. Throws Error if the rank belongs to another stage, or if another stage's plan does
  /// not fit.
  PipelineWorker(Session& session, PipelineOrder order, Host host);

  const PipelineStage& stage() const { return stage_; }
  PipelineOrder order() const { return order_; }

  /// Runs forward and backward of all micro-batches, and then sums the gradients of parameters that several
  /// stages hold. The entry apply remains to be run. On a GPU the call returns while the work is in progress.
  void accumulate(int64_t micro_batches);
  /// The outputs of the entry evaluate of a batch, at the last stage; nothing at the others.
  std::vector<HostTensor> evaluate(const Batch& batch);

 private:
  /// A micro-batch in progress.
  struct MicroBatch {
    Batch batch;
    SymbolValues sizes;
    int64_t backwards = 0;  // that this stage has done
  };

  void prepare(int64_t micro_batches);
  void prepare_evaluation();
  void follow(const PipelineStep& step);
  void run(const PipelineStep& step, std::string_view what);
  void exchange(const PipelineStep& step);
  void exchange(const PortRings& rings, const PipelineStep& step, StageMessage what,
                const SymbolValues& sizes);
  std::vector<HostTensor> run_entry(const PlanEntry& entry, const PortRings& rings, int64_t micro_batch,
                                    const MicroBatch& data);
  MicroBatch& micro_batch(int64_t number);
  SymbolValues sizes_of(const Batch& batch) const;
  std::vector<const Segment*> copies() const;
  StageExchange exchange_plan() const;
  void add_up_copies();

  Session& session_;
  PipelineOrder order_;
  Host host_;
  PipelineStage stage_;
  StageMessages messages_;
  std::unique_ptr<StageMemory> memory_;
  PipelineSchedule schedule_;                       // of the number of micro-batches that was asked for last
  std::map<int64_t, PortRings> rings_, evaluated_;  // by part
  std::map<int64_t, MicroBatch> micro_batches_;
};

}  // namespace smelt
