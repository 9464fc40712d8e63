// The cost of a candidate of a search, from the programs that it was compiled to: memory as planned, time as
// predicted.
#pragma once

#include <cstdint>
#include <span>

#include "compiler/search/plan_candidates.h"
#include "compiler/search/plan_time.h"

namespace smelt {

struct PlanCost {
  int64_t state_bytes = 0;  // of the rank that takes the most memory, as are the others
  int64_t arena_bytes = 0;  // the largest of all entries
  int64_t kept_bytes = 0;   // what a stage keeps of micro-batches between forward and backward, and sends
  EntryTime time = {};      // of an update
  double bubble = 0;        // the part of that time in which stages stand idle, on average

  int64_t bytes() const { return state_bytes + arena_bytes + kept_bytes; }
};

/// The largest arena of all entries.
int64_t arena_of(const Program& program);

/// `programs`: of the candidate's stages, in order, or of all its ranks. The time of stages is that of the
/// simulated schedule (pipeline_simulation.h), with what they send and the gradients of copies that they add
/// up. Throws Error where nothing is shared along an axis of the mesh.
PlanCost cost_of(std::span<const Program> programs, const PlanCandidate& candidate,
                 const MachineRates& rates);

}  // namespace smelt
