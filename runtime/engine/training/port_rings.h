// Places of a pipeline part's retained outputs. Each port has as many places as micro-batches are kept at
// once, and micro-batch i uses place i modulo that number.
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
  /// Allocates places for the retained outputs (retained_ports.h) of these entries, at their bounds, in
  /// addition to the existing ones; ports of one name share their places. The memory lives as long as its
  /// users. Throws Error (out_of_memory) with the bytes of all places.
  void grow(const Plan& plan, const std::vector<const PlanEntry*>& entries, int64_t size,
            StageMemory& memory);

  /// StageMemory::kHost where it is no port of these.
  int place(std::string_view port, int64_t micro_batch) const;

 private:
  void add_place(const std::string& port, int64_t bytes, StageMemory& memory);

  int64_t size_ = 1;
  int64_t bytes_of_one_ = 0;  // micro-batch
  std::map<std::string, std::vector<int>, std::less<>> places_;
};

/// Returns for a part, in the steps of its stage, the least number of places such that no micro-batch takes a
/// place before the last step of the one before it.
int64_t places_needed(const std::vector<PipelineStep>& steps, int64_t part);

}  // namespace smelt
