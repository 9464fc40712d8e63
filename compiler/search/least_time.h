// LeastTime: lower bounds for the predicted time of plans, which are computed from one compiled plan. They
// save the search from compiling plans that cannot be the fastest.
#pragma once

#include <cstdint>
#include <map>

#include "compiler/search/plan_candidates.h"
#include "compiler/search/plan_time.h"

namespace smelt {

/// Lower bounds for all candidates with the same number of ranks along the axis `model`. The compiled plan
/// has one micro-batch, no ZeRO, whole sequences and no pipeline stages. Other candidates do the same work
/// per record, with these differences. Pipeline stages divide the work, and are idle for a part of the time.
/// Sharded sequences divide all work except matmuls and attention. ZeRO divides the update of the states, so
/// the bounds do not contain the update. Collectives add time, which the bounds do not contain either.
class LeastTime {
 public:
  /// `program`: of the compiled plan. `records`: the bound of its symbol B.
  LeastTime(Program program, int64_t records, const Rates& rates);

  /// Returns a lower bound for the seconds of an update of the candidate.
  double of(const PlanCandidate& candidate);

 private:
  /// Seconds of a training step: of steps with matrix products, and of all other steps except collectives.
  struct Work {
    double products = 0, others = 0;
  };
  const Work& work_of(int64_t records);

  Program program_;
  const Symbols symbols_;  // of the compiled program
  int64_t records_;
  Rates rates_;
  double update_ = 0;                   // upper bound for the seconds of the update of the states
  std::map<int64_t, Work> of_records_;  // results of work_of so far
};

}  // namespace smelt
