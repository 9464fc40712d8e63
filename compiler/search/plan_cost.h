// The cost of a candidate of plan_search, computed from the candidate's compiled programs: memory as planned,
// and time as predicted.
#pragma once

#include <cstdint>
#include <span>

#include "compiler/search/plan_candidates.h"
#include "compiler/search/plan_time.h"

namespace smelt {

/// The memory and the time that a candidate needs.
struct PlanCost {
  // Bytes on the rank that needs the most memory.
  int64_t state_bytes = 0;  // parameters, gradients and optimizer states
  int64_t arena_bytes = 0;  // of the entry with the largest arena
  int64_t kept_bytes = 0;  // activations of micro-batches in flight (stage_cost.h); 0 without pipeline stages
  EntryTime time = {};     // of an update
  double bubble = 0;       // average share of time.seconds in which pipeline stages are idle, 0 to 1

  int64_t bytes() const { return state_bytes + arena_bytes + kept_bytes; }
};

/// Returns the bytes of the largest arena of all entries.
int64_t arena_of(const Program& program);

/// Returns the cost of a candidate. `programs`: one per pipeline stage, in order, or one program, which all
/// ranks run, if there are no stages. With stages, the time is that of the simulated schedule
/// (pipeline_simulation.h), and includes messages and sums of gradients between stages. Throws Error if the
/// mesh has an axis other than `stage` along which no program has a collective, because all ranks along such
/// an axis would do the same work.
PlanCost cost_of(std::span<const Program> programs, const PlanCandidate& candidate,
                 const MachineRates& rates);

}  // namespace smelt
