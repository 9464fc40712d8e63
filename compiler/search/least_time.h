// LeastTime: lower bounds for the predicted times of plans. All bounds are computed from one compiled plan,
// so the search need not compile the plans that cannot be the fastest.
#pragma once

#include <cstdint>
#include <map>

#include "compiler/search/plan_candidates.h"
#include "compiler/search/plan_time.h"

namespace smelt {

/// Lower bounds for all candidates with the same number of ranks along the mesh axis `model`. They are
/// computed from one compiled plan with that number, which has one micro-batch, no ZeRO, whole sequences and
/// no pipeline stages. Another candidate does the same work per record (sequence), except for three
/// differences. Pipeline stages divide the work, and are idle for a part of the time. Sharded sequences
/// divide all work except matmuls and attention. ZeRO divides the update of parameters and optimizer states.
/// The time of this update and the time of collectives are not included in the bounds.
class LeastTime {
 public:
  /// `program`: that of the compiled plan. `records`: the bound of its symbol B, in records per micro-batch.
  LeastTime(Program program, int64_t records, const Rates& rates);

  /// Returns a lower bound for the seconds that the candidate needs for a training update, that is, for all
  /// of its micro-batches.
  double of(const PlanCandidate& candidate);

 private:
  /// Seconds of the compiled training step: of the kernels with matrix products, and of all others except
  /// collectives.
  struct Work {
    double products = 0, others = 0;
  };
  /// Returns the work of a micro-batch of `records` records.
  const Work& work_of(int64_t records);

  Program program_;
  const Symbols symbols_;  // of the compiled program
  int64_t records_;
  Rates rates_;
  /// Upper bound of the seconds of the update of parameters and optimizer states. It is subtracted from
  /// Work::others.
  double update_ = 0;
  std::map<int64_t, Work> of_records_;  // results of work_of so far; the key is the number of records
};

}  // namespace smelt
