// Predicted time of an entry of a program that several ranks run, and the share of its collectives in that
// time.
#pragma once

#include <string>
#include <vector>

#include "compiler/search/machine_rates.h"
#include "ir/program/program.h"

namespace smelt {

/// All collectives of one kind along one axis in an entry.
struct CollectiveUse {
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::string axis;
  int64_t ranks = 1;      // along the axis
  int64_t count = 0;      // number of collectives
  double bytes = 0;       // of the values as a whole: the parts of all ranks together
  double link_bytes = 0;  // bytes over each link, if the ranks are a ring
  double seconds = 0;     // without concurrent work
};

struct EntryTime {
  double seconds = 0;      // of the entry
  double compute = 0;      // of its steps without collectives
  double collectives = 0;  // of its collectives without concurrent work
  double exposed = 0;      // added by collectives: steps wait for them, or are slower while they run

  double hidden() const { return collectives > exposed ? collectives - exposed : 0; }
  EntryTime& operator+=(const EntryTime& other);
};
EntryTime operator*(double times, EntryTime time);

/// Predicts the time of an entry, with sizes at the symbols' bounds. Steps run in sequence. Collectives run
/// concurrently with them on two streams, one for collectives that are copies and one for all others. A
/// collective begins after the previous step and after the previous collective of its stream. The step with
/// the number CollectiveStep::waited_at waits for the end of the collective. A matmul that reads the result
/// of such a copy, or that computes the values to copy, runs in parts that overlap with the copy if that is
/// faster (runtime/plan/row_parts.h).
EntryTime predicted_time(const Program& program, const PlanEntry& entry, const MachineRates& rates);

/// Returns the collectives of an entry by kind and axis.
std::vector<CollectiveUse> collective_uses(const Program& program, const PlanEntry& entry,
                                           const CollectiveRates& rates);

}  // namespace smelt
