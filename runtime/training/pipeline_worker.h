// The work of one stage of a pipeline: it follows the schedule of an update, and exchanges values and
// gradients with the stages next to it. What it keeps of micro-batches lies in its executor's memory.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "runtime/batch.h"
#include "runtime/session.h"
#include "runtime/training/pipeline_schedule.h"
#include "runtime/training/pipeline_stage.h"
#include "runtime/training/port_rings.h"
#include "runtime/training/stage_messages.h"

namespace smelt {

class PipelineWorker {
 public:
  /// What a worker asks of its caller: the batch of a micro-step, and what is due before an entry runs, such
  /// as the number of its random draws.
  struct Host {
    std::function<void(int64_t micro_batch, Batch& batch)> fill;
    std::function<void(int64_t micro_batch, const PlanEntry& entry, const SymbolValues& sizes)> before;
  };

  /// The session's plan is that of a stage, and its ranks are there: all make their workers at once. Throws
  /// Error where the rank is another stage's, or another stage's plan does not fit. `session` outlives it.
  PipelineWorker(Session& session, PipelineOrder order, Host host);

  const PipelineStage& stage() const { return stage_; }
  PipelineOrder order() const { return order_; }

  /// Forward and backward of all micro-batches; then gradients of parameters that several stages hold are
  /// added up. What is left to do is the entry apply. On a GPU it returns while that works.
  void accumulate(int64_t micro_batches);
  /// The outputs of the entry evaluate of a batch, at the last stage; nothing at the others.
  std::vector<HostTensor> evaluate(const Batch& batch);

 private:
  /// A micro-batch that is under way.
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
