// Memory slots of a pipeline part's retained outputs (runtime/plan/retained_ports.h). Each port has a ring
// of slots, one for each micro-batch whose data are kept at the same time. A slot is a place of StageMemory.
// With n slots, micro-batch i uses slot i modulo n.
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
  /// Adds slots until each retained output of these entries has `size` of them. A slot has the size of the
  /// port's tensor at the symbols' bounds. Ports of the same name share their slots. From now on,
  /// micro-batch i uses slot i modulo `size`. The slots are allocated in `memory`, which owns them. Throws
  /// Error (out_of_memory) with the number of micro-batches and the GiB per micro-batch.
  void grow(const Plan& plan, const std::vector<const PlanEntry*>& entries, int64_t size,
            StageMemory& memory);

  /// Returns the slot of this port and micro-batch, as the number of a place in StageMemory. Returns
  /// StageMemory::kHost if the port is not a retained output of the entries.
  int place(std::string_view port, int64_t micro_batch) const;

 private:
  void add_place(const std::string& port, int64_t bytes, StageMemory& memory);

  int64_t size_ = 1;
  int64_t bytes_of_one_ = 0;                                     // bytes per micro-batch, of all ports
  std::map<std::string, std::vector<int>, std::less<>> places_;  // by port
};

/// Returns the least number n of slots with which no slot is used by two micro-batches at once: in the steps
/// of the part's stage, the first step of micro-batch i + n comes after the last step of micro-batch i, for
/// every i.
int64_t places_needed(const std::vector<PipelineStep>& steps, int64_t part);

}  // namespace smelt
