// Where the ports of a part of a pipeline lie that its runs leave to each other: each has so many places as
// micro-batches are kept at once, and micro-batch i has place i modulo that number.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/stage_memory.h"
#include "runtime/training/pipeline_schedule.h"

namespace smelt {

class PortRings {
 public:
  /// Takes places for the kept ports (kept_ports.h) of these entries, at their bounds, in addition to those
  /// that there are; ports of one name are one. The memory lives as long as what uses them. Throws Error
  /// (out_of_memory) that says how much all places take.
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

/// Of a part, in the steps of its stage: the least number of places, none of which is taken by a micro-batch
/// before the last step of the one before it.
int64_t places_needed(const std::vector<PipelineStep>& steps, int64_t part);

}  // namespace smelt
