// Memory slots of a pipeline part's retained outputs (runtime/plan/retained_ports.h). Each port has a ring of
// slots ("places" of StageMemory), one for each micro-batch that is kept at once. With n slots, micro-batch i
// uses slot i modulo n.
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
  /// Adds places until each retained output of these entries has `size` of them. A place has the port's bytes
  /// at the symbols' bounds. Ports of the same name share their places. From now on, micro-batch i uses place
  /// i modulo `size`. `memory` owns the places. Throws Error (out_of_memory) with the number of micro-batches
  /// and the GiB per micro-batch.
  void grow(const Plan& plan, const std::vector<const PlanEntry*>& entries, int64_t size,
            StageMemory& memory);

  /// Returns the number in StageMemory of the place for this port and micro-batch, or StageMemory::kHost if
  /// the port is not a retained output of the entries.
  int place(std::string_view port, int64_t micro_batch) const;

 private:
  void add_place(const std::string& port, int64_t bytes, StageMemory& memory);

  int64_t size_ = 1;
  int64_t bytes_of_one_ = 0;                                     // bytes per micro-batch, of all ports
  std::map<std::string, std::vector<int>, std::less<>> places_;  // by port
};

/// Returns the least number n of places for which no place is used by two micro-batches at once: in the steps
/// of the part's stage, the first step of micro-batch i + n comes after the last step of micro-batch i, for
/// every i.
int64_t places_needed(const std::vector<PipelineStep>& steps, int64_t part);

}  // namespace smelt
