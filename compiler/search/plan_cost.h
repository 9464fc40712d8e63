// The cost of a candidate of the plan search (a mesh of ranks and a training schedule): the memory of its
// compiled programs, and their predicted time.
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
  int64_t arena_bytes = 0;  // temporary values, in the entry that needs the most
  int64_t kept_bytes = 0;  // activations of micro-batches in flight (stage_cost.h); 0 without pipeline stages
  EntryTime time = {};     // predicted time of a training update
  double bubble = 0;       // average share of time.seconds in which pipeline stages are idle, 0 to 1

  int64_t bytes() const { return state_bytes + arena_bytes + kept_bytes; }
};

/// Returns the bytes of the largest arena of all entries.
int64_t arena_of(const Program& program);

/// Returns the cost of a candidate. `programs`: one program per pipeline stage, in order. Without stages, it
/// is a single program, which all ranks run. With stages, the time is that of a simulated schedule
/// (pipeline_simulation.h). It includes the messages between stages, and the summation of the gradients of
/// parameters that several stages use. Throws Error if the mesh has an axis, other than `stage`, along which
/// the programs have no collective. All ranks along such an axis would do the same work.
PlanCost cost_of(std::span<const Program> programs, const PlanCandidate& candidate,
                 const MachineRates& rates);

}  // namespace smelt
