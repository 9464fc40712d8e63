// Measures how long the ranks of a run take for each kind of collective.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/ranks/collective_rates.h"

namespace smelt {

/// Runs a collective of `bytes` bytes (collective_rates.h), a multiple of 8 times the number of ranks, and
/// returns its seconds at this rank. All ranks of the group call it together.
using CollectiveClock = std::function<double(CollectiveKind kind, int64_t bytes)>;

/// Returns a clock for a communicator between processes of a host; it uses the steady clock.
CollectiveClock clock_of(Communicator& group);

struct MeasureCollectivesOptions {
  std::vector<int64_t> bytes;  // about: rounded up to a multiple of what ranks share
  int repetitions = 9;         // of which the median counts; one more goes before them
};
/// Return the sizes to measure: from 4 KiB to 16 MiB for processes of a host, from 64 KiB to 256 MiB for
/// GPUs.
MeasureCollectivesOptions sizes_for_processes();
MeasureCollectivesOptions sizes_for_gpus();

struct MeasuredCollective {
  CollectiveRates::Row row;
  std::vector<TimedSize> sizes;
};
/// Every kind in a group of `ranks` ranks, of which all groups are at work. The slowest rank of all counts,
/// and all get the same numbers. `everyone`: all ranks of the run.
std::vector<MeasuredCollective> measure_collectives(const CollectiveClock& clock, int64_t ranks,
                                                    Communicator& everyone,
                                                    const MeasureCollectivesOptions& options);

/// Returns the sizes that a mesh axis of the run may have: the divisors of `ranks` from 2 on, increasing.
std::vector<int64_t> axis_sizes(int64_t ranks);
/// Returns the largest number of any rank, at all of them.
double largest_of_ranks(double number, Communicator& everyone);

}  // namespace smelt
