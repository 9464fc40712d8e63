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
  int64_t count = 0;      // number of these collectives; the following members are sums over all of them
  double bytes = 0;       // of the whole tensors, that is, of the shards of all ranks together
  double link_bytes = 0;  // bytes over each link, if the ranks form a ring
  double seconds = 0;     // if no other work runs at the same time
};

/// Predicted times of one run of an entry, in seconds.
struct EntryTime {
  double seconds = 0;      // of the entry
  double compute = 0;      // sum of its steps other than collectives
  double collectives = 0;  // sum of its collectives, as if no other work ran at the same time
  double exposed = 0;      // added by collectives, because steps wait for them or are slower while they run

  /// Returns the time of collectives that overlaps with other steps.
  double hidden() const { return collectives > exposed ? collectives - exposed : 0; }
  EntryTime& operator+=(const EntryTime& other);
};
/// Returns the times of `times` runs.
EntryTime operator*(double times, EntryTime time);

/// Predicts the time of an entry, with sizes at the symbols' bounds. Steps other than collectives run in
/// sequence. Collectives run concurrently with them, on two streams of their own. One stream has the gathers
/// and exchanges that the GPU's copy engines run (MachineRates::copied_from). The other stream has all other
/// collectives. A collective begins after the previous step and after the previous collective of its stream.
/// The step with the number CollectiveStep::waited_at waits for the end of the collective. A matmul that
/// reads the result of a collective of the first stream, or computes the collective's operand, may be divided
/// into one matmul for the rows of each rank (runtime/plan/row_parts.h). Each of these matmuls overlaps with
/// the transfer of other rows. A matmul is divided only if that saves time, and if it is next to the
/// collective.
EntryTime predicted_time(const Program& program, const PlanEntry& entry, const MachineRates& rates);

/// Returns the collectives of an entry by kind and axis.
std::vector<CollectiveUse> collective_uses(const Program& program, const PlanEntry& entry,
                                           const CollectiveRates& rates);

}  // namespace smelt
