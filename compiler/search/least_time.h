// A lower bound of the time of plans, from one that was compiled: what keeps a search from compiling plans
// that cannot be the fastest.
#pragma once

#include <cstdint>
#include <map>

#include "compiler/search/plan_candidates.h"
#include "compiler/search/plan_time.h"

namespace smelt {

/// Estimates from a plan with one micro-batch, nothing sharded along `data`, whole sequences and no stages.
/// Other plans with as many ranks along `model` do the same work: stages divide it, sharded sequences divide
/// all work but matmuls, ZeRO divides the update, and the cost of collectives is added.
class LeastTime {
 public:
  /// `records`: the bound of B that the program has.
  LeastTime(Program program, int64_t records, const Rates& rates);

  /// Seconds of an update of the candidate.
  double of(const PlanCandidate& candidate);

 private:
  /// The time of a training step with a number of records, in seconds.
  struct Work {
    double products = 0, others = 0;
  };
  const Work& work_of(int64_t records);

  Program program_;
  const Symbols symbols_;  // that it was compiled with
  int64_t records_;
  Rates rates_;
  double update_ = 0;                   // at most, of the states
  std::map<int64_t, Work> of_records_;  // that were asked for
};

}  // namespace smelt
