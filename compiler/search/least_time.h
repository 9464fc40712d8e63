// A lower bound of the time of plans, from one that was compiled: what keeps a search from compiling plans
// that cannot be the fastest.
#pragma once

#include <cstdint>
#include <map>

#include "compiler/search/plan_candidates.h"
#include "compiler/search/plan_time.h"

namespace smelt {

/// Of a plan with one micro-batch, nothing in parts along `data`, whole sequences and no stages. Others with
/// as many ranks along `model` do the same work: stages share it, sequences that are cut share what
/// multiplies no matrices, ZeRO shares the update, and what collectives cost comes on top.
class LeastTime {
 public:
  /// `records`: the bound of B that the program has.
  LeastTime(Program program, int64_t records, const Rates& rates);

  /// Seconds of an update of the candidate.
  double of(const PlanCandidate& candidate);

 private:
  /// Of a step of training with so many records, in seconds.
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
