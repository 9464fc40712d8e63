// Memory for the retained outputs of a pipeline part: outputs that a later run of the stage, or another
// stage, reads (runtime/plan/retained_ports.h). Each output ("port") has a ring of slots, because the data of
// several micro-batches may be kept at the same time. A slot is a place of StageMemory. With n slots,
// micro-batch i uses slot i modulo n.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/engine/training/pipeline_schedule.h"
#include "runtime/session/stage_memory.h"

namespace smelt {

class PortRings {
 public:
  /// Adds slots until each retained output of these entries has `size` slots. A slot has the size of the
  /// port's tensor at the symbols' bounds. Ports of the same name share their slots. From now on, micro-batch
  /// i uses slot i modulo `size`. The slots are allocated in `memory`, which owns them. Throws Error
  /// (out_of_memory) if there is not enough memory; the message has the number of micro-batches and the GiB
  /// per micro-batch.
  void grow(const Plan& plan, const std::vector<const PlanEntry*>& entries, int64_t size,
            StageMemory& memory);

  /// Returns the slot of this port and micro-batch, as the number of a place in StageMemory. Returns
  /// StageMemory::kHost if the port is not a retained output of the entries.
  int place(std::string_view port, int64_t micro_batch) const;

 private:
  void add_place(const std::string& port, int64_t bytes, StageMemory& memory);

  int64_t size_ = 1;
  int64_t bytes_of_one_ = 0;                                     // bytes per micro-batch, of all ports
  std::map<std::string, std::vector<int>, std::less<>> places_;  // slots of each port
};

/// Returns the smallest number n of slots with which no two micro-batches use a slot at the same time.
/// `steps`: the steps of the part's stage. For every i, the first of these steps for micro-batch i + n must
/// come after the last one for micro-batch i.
int64_t places_needed(const std::vector<PipelineStep>& steps, int64_t part);

}  // namespace smelt
