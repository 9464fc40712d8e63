// The time that an entry of a program of several ranks is predicted to take, and what its collectives cost of
// it.
#pragma once

#include <string>
#include <vector>

#include "compiler/search/machine_rates.h"
#include "ir/program/program.h"

namespace smelt {

/// All collectives of an entry of one kind along one axis.
struct CollectiveUse {
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::string axis;
  int64_t ranks = 1;  // along it
  int64_t count = 0;
  double bytes = 0;       // of the whole, as CollectiveRates counts them
  double link_bytes = 0;  // over each link of a ring
  double seconds = 0;     // alone
};

struct EntryTime {
  double seconds = 0;
  double compute = 0;      // alone, without collectives
  double collectives = 0;  // alone
  double exposed = 0;      // that collectives add: the work waits for them, or is slower beside them

  double hidden() const { return collectives > exposed ? collectives - exposed : 0; }
  EntryTime& operator+=(const EntryTime& other);
};
EntryTime operator*(double times, EntryTime time);

/// Predicts the time of steps in sequence, with collectives on two streams: one for those that are copies,
/// one for all others. Each step begins when the step before it and the collective before it on its stream
/// have ended, and CollectiveStep::waited_at gives the step that waits for a collective. Products that read
/// or make parts of copies go on part by part where that is faster (runtime/plan/row_parts.h). Sizes are at
/// the symbols' bounds.
EntryTime predicted_time(const Program& program, const PlanEntry& entry, const MachineRates& rates);

std::vector<CollectiveUse> collective_uses(const Program& program, const PlanEntry& entry,
                                           const CollectiveRates& rates);

}  // namespace smelt
